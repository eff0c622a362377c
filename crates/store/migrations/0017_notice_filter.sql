-- Filters of notices, and tests of notices. Existing notices get no new filter.

-- The direction of changes or alerts: any, regression or improvement.
alter table notice rename column event to direction;
update notice set direction = case direction when 'regressions' then 'regression' else 'any' end;
-- Names or patterns; null matches every name.
alter table notice add column branch {text};
alter table notice add column testbed {text};
alter table notice add column benchmark {text};
-- The minimum size of changes or alerts, as a share; null matches every size.
alter table notice add column min_change {real};

-- Whether the delivery is a test, which has no report and does not wait for other deliveries.
alter table delivery add column test {bool} not null default false;

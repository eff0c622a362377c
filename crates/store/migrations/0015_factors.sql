-- The common factors of a report, which moved all its benchmarks: per measure its key and the logarithm of the factor, eight bytes
-- each. A report without a row was not analyzed yet.
create table report_factor (
    report_id {int} primary key references report on delete cascade,
    factors {blob} not null
) {strict};

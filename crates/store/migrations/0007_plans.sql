-- What organizations pay for, where the server bills. The payment provider has the truth; this is what was last seen of it.

create table plan (
    id {key},
    organization_id {int} not null references organization on delete cascade,
    subscription {text} not null,
    customer {text} not null,
    level {text} not null,
    status {text} not null,
    -- The whole plan, as JSON, for those who ask for it.
    shown {text} not null,
    -- Counts the changes, so that nobody writes over what was seen later.
    revision {int} not null,
    -- When the provider was last asked about it by the clock.
    asked {int} not null
) {strict};
create unique index plan_organization_id on plan (organization_id);
create unique index plan_subscription on plan (subscription);

-- Who users are at the payment provider.
create table customer (
    account_id {int} primary key references account on delete cascade,
    customer {text} not null
) {strict};

-- Pages of the provider where somebody may be paying right now. They outlive their organizations, so that what is paid too
-- late is given back.
create table checkout (
    id {key},
    session {text} not null,
    organization_id {int} references organization on delete set null,
    asked {int} not null
) {strict};
create unique index checkout_session on checkout (session);
create index checkout_organization_id on checkout (organization_id);

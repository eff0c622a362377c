-- Identity providers and the domains whose people join by themselves.

create table sso (
    id {key},
    uuid {uuid} not null,
    organization_id {int} not null references organization on delete cascade,
    domain {text} not null,
    created {int} not null
) {strict};
create unique index sso_uuid on sso (uuid);
create unique index sso_domain on sso (domain);
create index sso_organization_id on sso (organization_id);

-- Who a user is at an identity provider. An address may wander to somebody else; the subject does not.
create table identity (
    id {key},
    account_id {int} not null references account on delete cascade,
    provider {text} not null,
    subject {text} not null,
    created {int} not null
) {strict};
create unique index identity_provider_subject on identity (provider, subject);
create unique index identity_account_id_provider on identity (account_id, provider);

-- A sign-in at an identity provider that has begun. It is taken out when the browser comes back, so that it works once.
create table oauth (
    id {key},
    uuid {uuid} not null,
    provider {text} not null,
    -- The hash of what the browser holds that began it.
    browser {blob} not null,
    nonce {text} not null,
    verifier {text} not null,
    invite {text},
    claim {uuid},
    plan {text},
    expires {int} not null
) {strict};
create unique index oauth_uuid on oauth (uuid);
create index oauth_expires on oauth (expires);

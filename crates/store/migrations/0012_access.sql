-- Sessions that their owners recognize, the environment of jobs apart from their configuration, the proof that a client of
-- a sign-in at an identity provider keeps, and the usage of unclaimed organizations.

alter table session add column address {text};
alter table session add column agent {text};

-- The environment of a job may hold secrets: it is kept until the job ends.
alter table job add column env {text};
update job set env = {config_env} where status in ('pending', 'claimed', 'running');
update job set config = {config_without_env};

-- Whether the client keeps a verifier of its own (PKCE) instead of our cookie.
alter table oauth add column has_challenge {bool} not null default false;

-- What an unclaimed organization holds. `active` is the time of the last anonymous run or push; null for
-- organizations that never expire.
alter table organization add column active {int};
alter table organization add column metrics {int} not null default 0;
alter table organization add column report_bytes {int} not null default 0;
update organization set metrics = coalesce(
    (select cast(sum(report.metrics) as bigint) from project join report on report.project_id = project.id
     where project.organization_id = organization.id), 0)
where claimed is null;
-- The hash of the token that the creating run was given.
alter table organization add column claim_hash {blob};
create index organization_unclaimed on organization (active) where claimed is null and deleted is null;

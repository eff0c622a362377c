-- The organization on whose behalf the server delivers, so that one organization does not delay the others.
alter table outbox add column owner {int};

-- Warnings about the results of a job, as a JSON array of texts; null without warnings.
alter table job add column warnings {text};

-- Whether lower or higher values of a measure are better; null for the direction of the built-in measure with the same slug, which
-- is unknown if there is none.
alter table measure add column direction {text};

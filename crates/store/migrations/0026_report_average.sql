-- Average of the tool that the values of the report are; null if the tool provides at most one, and for earlier reports.
alter table report add column average {text};

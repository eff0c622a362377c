-- How likely noise is to make a change comes from the history of its own series.

alter table lane drop column noise_values;
alter table lane drop column noise_alarms;
alter table lane drop column noise_margins;
alter table lane drop column sampled;

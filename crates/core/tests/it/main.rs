mod api;
mod fields;
mod schemas;

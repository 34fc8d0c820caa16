mod api;
mod clients;
mod fields;
mod schemas;

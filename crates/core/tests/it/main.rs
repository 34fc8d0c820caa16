mod clients;
mod fields;
mod schemas;

mod api;
mod clients;
mod fields;
mod modules;
mod schemas;
mod words;

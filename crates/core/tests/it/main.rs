mod fields;
mod modules;
mod schemas;

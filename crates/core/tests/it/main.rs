mod fields;
mod schemas;

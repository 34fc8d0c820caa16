mod fields;
mod schemas;
mod words;

//! A JSON value as rows and columns, for tables and Markdown.

use serde_json::Value;

/// Rows of cells under column names.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Lays a value out: an array of objects by its items' fields, an object by its own fields.
    pub fn of(value: &Value) -> Table {
        match value {
            Value::Array(items) => of_items(items),
            Value::Object(map) if !map.is_empty() && map.values().all(Value::is_object) => {
                let mut table = of_items(&map.values().cloned().collect::<Vec<_>>());
                table.header.insert(0, "key".into());
                table.rows.iter_mut().zip(map.keys()).for_each(|(row, key)| row.insert(0, key.clone()));
                table
            }
            Value::Object(map) => Table {
                header: vec!["field".into(), "value".into()],
                rows: map.iter().map(|(key, value)| vec![key.clone(), cell(value)]).collect(),
            },
            scalar => Table { header: vec!["value".into()], rows: vec![vec![cell(scalar)]] },
        }
    }

    /// Renders the table as Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let escaped: Vec<_> =
                cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
            format!("| {} |\n", escaped.join(" | "))
        };
        let rule: Vec<_> = self.header.iter().map(|_| "---".to_owned()).collect();
        let mut text = line(&self.header) + &line(&rule);
        self.rows.iter().for_each(|row| text.push_str(&line(row)));
        text
    }
}

fn of_items(items: &[Value]) -> Table {
    let mut header: Vec<String> = Vec::new();
    for key in items.iter().filter_map(Value::as_object).flat_map(|item| item.keys()) {
        if !header.contains(key) {
            header.push(key.clone());
        }
    }
    if header.is_empty() {
        let rows = items.iter().map(|item| vec![cell(item)]).collect();
        return Table { header: vec!["value".into()], rows };
    }
    let row = |item: &Value| header.iter().map(|key| item.get(key).map(cell).unwrap_or_default()).collect();
    let rows = items.iter().map(row).collect();
    Table { header, rows }
}

/// Renders one value for a person: text bare, containers as compact JSON.
pub fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_become_rows_and_maps_get_a_key_column() {
        let table = Table::of(&json!([{"id": "a", "n": 1}, {"id": "b|c", "x": null}]));
        assert_eq!(table.markdown(), "| id | n | x |\n| --- | --- | --- |\n| a | 1 |  |\n| b\\|c |  |  |\n");
        assert_eq!(Table::of(&json!({"A": {"s": 1}})).header, ["key", "s"]);
        assert_eq!(Table::of(&json!({"a": 1})).rows, [["a", "1"]]);
    }
}

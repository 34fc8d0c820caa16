//! The entry of our MCP server: `{"mcpServers": {"anthill": {"command": C, "args": ["mcp"]}}}`.

use serde_json::{Value, json};

use super::need;
use crate::model::json::ParseError;
use crate::model::jsonc::{Jsonc, Kind, Node};

const LIST: &str = "mcpServers";
const NAME: &str = "anthill";

#[derive(Debug, Clone)]
pub struct Server {
    /// The program, which is started without a shell.
    pub command: String,
    /// Whether it is added; if not, it is only kept up to date where it is.
    pub wanted: bool,
}

impl Server {
    pub(super) fn put(&self, text: &str) -> Result<String, ParseError> {
        let document = Jsonc::parse(text)?;
        need(&document, &document.root, Kind::Object, "the file")?;
        let Some(list) = document.root.member(LIST) else {
            let value = json!({NAME: self.value()});
            return Ok(if self.wanted {
                document.insert(&document.root, Some(LIST), &value)
            } else {
                text.into()
            });
        };
        need(&document, list, Kind::Object, &format!("`{LIST}`"))?;
        Ok(match list.member(NAME) {
            None if self.wanted => document.insert(list, Some(NAME), &self.value()),
            Some(server) if is_ours(&document, server) && document.value(server) != self.value() => {
                document.replace(server, &self.value())
            }
            _ => text.into(),
        })
    }

    pub(super) fn take(&self, text: &str) -> Result<String, ParseError> {
        let document = Jsonc::parse(text)?;
        let root = &document.root;
        let Some(list) = root.place_of(LIST) else { return Ok(text.into()) };
        let servers = &root.entries[list].value;
        let Some(place) = servers.place_of(NAME) else { return Ok(text.into()) };
        Ok(match is_ours(&document, &servers.entries[place].value) {
            true if servers.entries.len() == 1 => document.remove(root, list),
            true => document.remove(servers, place),
            false => text.into(),
        })
    }

    fn value(&self) -> Value {
        json!({"command": self.command, "args": ["mcp"]})
    }
}

fn is_ours(document: &Jsonc<'_>, server: &Node) -> bool {
    server.member("args").is_some_and(|args| document.value(args) == json!(["mcp"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_goes_beside_others_and_out_again() {
        let server = Server { command: "anthill".into(), wanted: true };
        let other = "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"}\n  }\n}\n";
        for text in ["{}\n", other, "{\"mcpServers\": {\"x\": 1}}"] {
            let with = server.put(text).unwrap();
            assert_ne!(with, text);
            assert_eq!(server.put(&with).unwrap(), with);
            assert_eq!(server.take(&with).unwrap(), text);
            let moved = Server { command: "/opt/anthill".into(), wanted: false };
            assert!(moved.put(&with).unwrap().contains("/opt/anthill"));
            assert_eq!(moved.put(text).unwrap(), text);
        }
        let foreign = "{\"mcpServers\": {\"anthill\": {\"command\": \"docker\"}}}";
        assert_eq!(server.put(foreign).unwrap(), foreign);
        assert_eq!(server.take(foreign).unwrap(), foreign);
    }
}

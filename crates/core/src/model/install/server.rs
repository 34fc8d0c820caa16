//! The entry `{"mcpServers": {"anthill": {"command": C, "args": ["mcp"]}}}` that earlier versions could register, although
//! there was no such command. It is only taken out.

use serde_json::json;

use crate::model::json::ParseError;
use crate::model::jsonc::{Jsonc, Node};

const LIST: &str = "mcpServers";
const NAME: &str = "anthill";

pub(super) fn take(text: &str) -> Result<String, ParseError> {
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

fn is_ours(document: &Jsonc<'_>, server: &Node) -> bool {
    server.member("args").is_some_and(|args| document.value(args) == json!(["mcp"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_server_comes_out() {
        let ours = r#""anthill": {"command": "/opt/anthill", "args": ["mcp"]}"#;
        let alone = format!("{{\"mcpServers\": {{{ours}}}, \"x\": 1}}");
        assert_eq!(take(&alone).unwrap(), "{\"x\": 1}");
        let beside = format!("{{\"mcpServers\": {{\"x\": 1, {ours}}}}}");
        assert_eq!(take(&beside).unwrap(), "{\"mcpServers\": {\"x\": 1}}");
        for foreign in
            ["{}", "{\"mcpServers\": {\"anthill\": {\"command\": \"docker\"}}}", "{\"mcpServers\": 1}"]
        {
            assert_eq!(take(foreign).unwrap(), foreign);
        }
    }
}

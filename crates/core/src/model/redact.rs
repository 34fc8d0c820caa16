//! Secrets in texts that others wrote (messages of errors, output of commands) are left out before they are stored.
//!
//! A text is read once, run by run: a run is what stands together of letters, digits, `_` and `-`. Each is looked at as
//! the head of a private key, the scheme of an address, the name of a value, an option of a command, a word that announces a
//! token, or a token itself (`scan`, by the tables of `rules`). A name tells how sure one can be: what `password=` says is
//! secret however it looks, what `token:` says only if it looks so (`looks`), because programs are full of tokens. Doubt is for
//! keeping code and prose readable: `password: String` and `token = lexer.next()` stay.
//!
//! A second pass changes nothing, for a value that holds the mark is left alone.

mod looks;
mod names;
mod rules;
#[cfg(test)]
mod samples;
mod scan;

use std::borrow::Cow;

use serde_json::{Map, Value};

use self::looks::{Looked, NameForm};
use self::names::{name_of, stem};
pub use self::rules::MARK;
use self::scan::Scan;

/// Returns `text` with every secret in it replaced.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut scan = Scan::of(text.as_bytes());
    let (mut clean, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(run) = scan.run_from(at) {
        let Some(secret) = scan.secret_of(&run) else {
            at = run.end;
            continue;
        };
        clean.push_str(&text[copied..secret.start]);
        clean.push_str(MARK);
        copied = secret.end;
        at = secret.end.max(run.start + 1);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

/// Replaces every secret in the texts of `value`, and each text whose member's name says that it is one.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        Value::Object(members) => {
            let pair = members.contains_key("value").then(|| named_by(members)).flatten();
            for (name, value) in members {
                let name = pair.as_ref().filter(|_| name == "value").unwrap_or(name);
                match value {
                    Value::String(text) if says_secret(name, text) => *text = MARK.into(),
                    _ => redact_value(value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the name of a pair: `{"name": "DB_PASSWORD", "value": "x"}`.
fn named_by(members: &Map<String, Value>) -> Option<String> {
    ["name", "key"].iter().find_map(|member| members.get(*member)?.as_str()).map(str::to_owned)
}

fn says_secret(name: &str, text: &str) -> bool {
    let name = stem(name.as_bytes());
    let looked = Looked {
        value: text.as_bytes(),
        quoted: true,
        spaced: false,
        loose: false,
        last: true,
        told: NameForm::of(name),
    };
    !text.contains(MARK) && name_of(name).is_some_and(|name| looked.is_secret(name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use super::looks::is_blank;
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text), expected);
        assert_eq!(redact(expected), expected, "a second pass changes nothing");
    }

    #[track_caller]
    fn stays(text: &str) {
        assert!(matches!(redact(text), Cow::Borrowed(_)), "{text} -> {}", redact(text));
    }

    #[test]
    fn tokens_of_services_are_known_by_how_they_begin() {
        let tokens = [
            "sk-proj-abcDEF1234567890abcDEF",
            "sk-ant-api03-aaaaBBBB1111-cccc_DDDD",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "gho_abcdefghijklmnopqrstuvwxyz0123456789",
            "ghs_abcdefghijklmnopqrstuvwxyz0123456789",
            "ghu_abcdefghijklmnopqrstuvwxyz0123456789",
            "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
            "glpat-abcDEF123456-78901234",
            "xoxb-123456789012-abcdefghijkl",
            "xoxp-1-2-3456789012",
            "AKIAIOSFODNN7EXAMPLE",
            "ASIAIOSFODNN7EXAMPLE",
            "AIzaSyA1234567890abcdefghijklmnopqrstuv",
            "hf_abcdefGHIJKLmnopqrstuv",
            "npm_abcdefghijklmnopqrstuvwxyz0123456789",
            "pypi-AgEIcHlwaS5vcmcCJDEyMzQ1Njc4",
            "SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        ];
        for token in tokens {
            check(token, MARK);
            for (before, after) in
                [("a ", " b"), ("\"", "\""), ("(", ")"), ("ü", "ü"), ("x=", ","), ("/", "/x")]
            {
                check(&format!("{before}{token}{after}"), &format!("{before}{MARK}{after}"));
            }
        }
        check("my_ghp_abcdefghijklmnopqrstuvwxyz0123456789", "my_[redacted]");
    }

    #[test]
    fn private_keys_go_to_their_end() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc+/=\n-----END RSA PRIVATE KEY-----";
        check(&format!("a\n{key}\nb"), "a\n[redacted]\nb");
        check("-----BEGIN PRIVATE KEY-----\nMIIE", MARK);
        check(&format!("{key}{key}"), "[redacted][redacted]");
        check(&format!("{{\"k\": \"a\\n{}\"}}", key.replace('\n', "\\n")), "{\"k\": \"a\\n[redacted]\"}");
        check(
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nP2\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\nx",
            "[redacted]\nx",
        );
        stays("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----");
    }

    #[test]
    fn headers_and_addresses_lose_what_lets_one_in() {
        check("Authorization: Bearer abc", "Authorization: Bearer [redacted]");
        check("authorization: basic dXNlcjpwYXNz\r\nHost: x", "authorization: basic [redacted]\r\nHost: x");
        check("-H 'Authorization: Bearer aaa.bbb-ccc' x", "-H 'Authorization: Bearer [redacted]' x");
        check("\"Authorization\": \"token 12345678\"", "\"Authorization\": \"token [redacted]\"");
        check("sent Bearer 0123456789abcdef", "sent Bearer [redacted]");
        check("postgres://ann:hunter2@db/x", "postgres://ann:[redacted]@db/x");
        check("redis://:p@ss@host:6379", "redis://:[redacted]@host:6379");
        check("git clone https://x:ghp_abcdefghijklmnop1@h/r", "git clone https://x:[redacted]@h/r");
        stays("https://example.com:8080/a@b?c=d:e@f");
        stays("the bearer authentication of Basic auth; Authorization: required");
    }

    #[test]
    fn named_values_go_however_they_are_written() {
        check("password=hunter2", "password=[redacted]");
        check("PASSWORD=x y", "PASSWORD=[redacted] y");
        check("password: hunter2\nnext", "password: [redacted]\nnext");
        check("password: correcthorse\n", "password: [redacted]\n");
        check("db_passwd = \"two words\", x", "db_passwd = \"[redacted]\", x");
        check(r#"{"clientSecret": "s3", "b": 1}"#, r#"{"clientSecret": "[redacted]", "b": 1}"#);
        check(r#"{\"api_key\":\"abc\"}"#, r#"{\"api_key\":\"[redacted]\"}"#);
        check(r#"secret="pa\"ss" x"#, r#"secret="[redacted]" x"#);
        check("secret=\"cut of", "secret=\"[redacted] of");
        check("X-Api-Key: abc123", "X-Api-Key: [redacted]");
        check("AWS_SECRET_ACCESS_KEY=wJalr/K7+x", "AWS_SECRET_ACCESS_KEY=[redacted]");
        check("?access_token=ab&x=1", "?access_token=[redacted]&x=1");
        check("curl --password hunter2 -v", "curl --password [redacted] -v");
        check("token=0a1b2c3d4e", "token=[redacted]");
        check("\"token\": \"0a1b2c3d4e\"", "\"token\": \"[redacted]\"");
        check("passwörd=1 password=ünï1 ü", "passwörd=1 password=[redacted] ü");
        check("signing_key = 0123456789abcdef0123456789abcdef", "signing_key = [redacted]");
        check("key: \"aB3+aB3/aB3=aB3+aB3/aB3=\"", "key: \"[redacted]\"");
    }

    #[test]
    fn prose_and_code_stay() {
        for text in [
            "",
            "the password is wrong; enter a password: please try again",
            "invalid token: expired",
            "Unexpected token: end of file",
            "SyntaxError: Unexpected token '}' in JSON at position 10",
            "fn login(password: &str, token: String, secret: Option<String>)",
            "let token = lexer.next_token();",
            "if token == \"+\" { secret != other }",
            "password=password, api_key=os.environ[\"API_KEY\"], token=self.token",
            "password = self.password",
            "secret: None, password: null, api_key: undefined",
            "max_tokens=100 tokens: 12345678 tokenizer=gpt2-large",
            "PASSWORD=$DB_PASSWORD TOKEN=${TOKEN} SECRET=$(pass show x)",
            "password: ********",
            "key: value, primary_key = users_id_1, cache-key: linux-cargo-2026",
            "sk-learn, npm_config_registry, hf_hub_download, task-20260101000000-abcd",
            "AKIA AKIAX SG.x eyJ.x.y",
            "commit 3ab96ba0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0",
            "Token::Password => secret::new()",
            "src/model/redact.rs:10: error[E0308]: mismatched types",
            "ünïcödé – “quotes” 日本語",
        ] {
            stays(text);
        }
    }

    #[test]
    fn values_are_searched_through_and_names_count() {
        let mut value = json!({
            "password": "x", "note": "token=0a1b2c3d4e", "list": ["Bearer 0123456789abcdef", 7, null],
            "token": {"password": "y", "text": "fine"}, "api_key": 12, "secret": "", "tokens": "5",
        });
        redact_value(&mut value);
        let expected = json!({
            "password": MARK, "note": "token=[redacted]", "list": ["Bearer [redacted]", 7, null],
            "token": {"password": MARK, "text": "fine"}, "api_key": 12, "secret": "", "tokens": "5",
        });
        assert_eq!(value, expected);
        let before = value.clone();
        redact_value(&mut value);
        assert_eq!(value, before);
        let mut pairs = json!([{"name": "DB_PASSWORD", "value": "x"}, {"key": "mode", "value": "x"}]);
        redact_value(&mut pairs);
        assert_eq!(pairs, json!([{"name": "DB_PASSWORD", "value": MARK}, {"key": "mode", "value": "x"}]));
    }

    #[test]
    fn a_name_may_say_which_of_several_it_is() {
        check("DB_PASSWORD_PROD=hunter2", "DB_PASSWORD_PROD=[redacted]");
        check("password2: hunter2\n", "password2: [redacted]\n");
        check("API_KEY_1=abc", "API_KEY_1=[redacted]");
        check("password=password1", "password=[redacted]");
        stays("password_policy=strict token_2 = lexer.next_token()");
    }

    #[test]
    fn what_only_stands_behind_a_name_must_look_like_a_secret() {
        check("ENV API_KEY 0a1b2c3d4e", "ENV API_KEY [redacted]");
        check("login.password(\"s3!cret\")", "login.password(\"[redacted]\")");
        check("WITH PASSWORD 's3!cret'", "WITH PASSWORD '[redacted]'");
        check("IDENTIFIED WITH sha2 BY 'hunter2'", "IDENTIFIED WITH sha2 BY '[redacted]'");
        check("- name: DB_PASSWORD\n  value: hunter2\n", "- name: DB_PASSWORD\n  value: [redacted]\n");
        check("conf['password'] = 'hunter2'", "conf['password'] = '[redacted]'");
        stays("set PASSWORD before you start; you must set API_KEY first.");
        stays("ask_password(\"Password: \"); sort by 'name'");
    }

    #[test]
    fn long_texts_take_time_in_proportion() {
        for piece in [
            "token=",
            "sk-",
            "password='",
            "eyJ.",
            "SG.",
            "a://",
            "a://b:",
            "Authorization: ",
            "-----BEGIN ",
            "Private-Lines: ",
            "name value: ",
            "set :",
            "by '",
        ] {
            let text = piece.repeat(100_000 / piece.len());
            redact(&text);
        }
    }

    const CANARY: &str = "sk-ant-api03-CANARYcanary0123456789";

    /// Pieces that rules are made of, so that they meet in every way.
    fn texts() -> impl Strategy<Value = String> {
        let pieces = select(
            &[
                "password",
                "token",
                "secret",
                "key",
                "api_",
                "Bearer",
                "Authorization",
                "=",
                ":",
                " ",
                "\"",
                "'",
                "\\",
                "\n",
                "://",
                "@",
                "sk-",
                "ghp_",
                "AKIA",
                "eyJ",
                ".",
                "abcdef0123456789",
                "IOSFODNN7EXAMPLE",
                "-----BEGIN",
                " PRIVATE KEY",
                "-----",
                "-----END",
                "[redacted]",
                "--",
                "ü",
                "\u{2028}",
                "(",
                ")",
                "[",
                "$",
                "/",
                "x",
                "&",
                ",",
                "{",
                "}",
                "_",
                "-",
            ][..],
        );
        let any = prop_oneof![4 => pieces.prop_map(str::to_owned), 1 => ".{0,4}"];
        proptest::collection::vec(any, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_second_pass_changes_nothing(text in texts()) {
            let once = redact(&text).into_owned();
            prop_assert_eq!(redact(&once), once.as_str());
        }

        #[test]
        fn a_token_is_found_wherever_it_stands(before in texts(), after in texts()) {
            let text = format!("{before} {CANARY} {after}");
            prop_assert!(!redact(&text).contains("CANARYcanary"));
            let mut value = json!({"a": [text], "b": {"c": CANARY}});
            redact_value(&mut value);
            prop_assert!(!value.to_string().contains("CANARYcanary"));
        }

        #[test]
        fn a_password_goes_whatever_it_is(password in "[!-~]{1,40}", before in ".{0,20}") {
            let text = Value::from(password.as_str()).to_string();
            let clean = redact(&format!("{before}\n{{\"password\":{text}}}")).into_owned();
            let kept = clean.ends_with(&format!("\"password\":{text}}}"));
            prop_assert!(!kept || is_blank(password.as_bytes()) || password.contains(MARK), "{}", clean);
        }
    }
}

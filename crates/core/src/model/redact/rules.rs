//! What is known of secrets: how tokens of services begin, which names announce one, where commands take passwords.
//!
//! Every rule has two samples, one that goes and one that stays. Samples are patterns, so that none of them looks like a secret that
//! somebody has lost: `{a20}` stands for twenty letters and digits, `{x}` for hexadecimal digits, `{A}` for capitals and digits,
//! `{m}` for letters of both cases, `{b}` for base64, `{d}` for digits, `{p}` for a password with signs in it.
//!
//! The facts (prefixes, lengths, alphabets) are those that gitleaks and detect-secrets have gathered; the rules are our own.

/// What stands in the place of a secret.
pub const MARK: &str = "[redacted]";

/// Of which letters a token is made behind its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Letters, digits, `_` and `-`.
    Run,
    /// Letters and digits.
    Word,
    /// Capitals and digits.
    Caps,
    Hex,
    /// Those of a run, and dots.
    Dotted,
    /// Those of base64 in all its forms, and dots.
    Base,
}

/// What shows that it is none of somebody's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Its length is enough.
    Any,
    /// A digit, or letters of both cases.
    Mixed,
    Digit,
    /// Letters and digits within one of its parts, so that it is no name with a number.
    Woven,
    /// It is just as long as the least length.
    Exact,
}

/// A token that is known by how it begins.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    pub prefix: &'static str,
    pub class: Class,
    pub least: usize,
    pub proof: Proof,
}

macro_rules! tokens {
    ($($prefix:literal $class:ident $least:literal $proof:ident, $yes:literal, $no:literal;)*) => {
        /// Tokens of services, in the order of their first letters.
        pub const TOKENS: &[Token] =
            &[$(Token { prefix: $prefix, class: Class::$class, least: $least, proof: Proof::$proof }),*];
        #[cfg(test)]
        pub const TOKEN_SAMPLES: &[(&str, &str)] = &[$(($yes, $no)),*];
    };
}

tokens! {
    "1//0" Run 30 Mixed, "1//0{a43}", "see 1//0";
    "A3-" Run 30 Digit, "A3-{A6}-{A11}-{A5}-{A5}-{A5}", "A3-paper";
    "ABIA" Caps 16 Exact, "ABIA{A16}", "ABIA";
    "ABSK" Base 100 Mixed, "ABSK{b110}", "ABSKnown";
    "ACCA" Caps 16 Exact, "ACCA{A16}", "ACCA {A16}";
    "AGE-SECRET-KEY-1" Caps 50 Mixed, "AGE-SECRET-KEY-1{A58}", "AGE-SECRET-KEY-1…";
    "AIza" Run 30 Digit, "AIza{a35}", "AIzawa";
    "AKCp" Word 60 Mixed, "AKCp{a69}", "AKCport";
    "AKIA" Caps 16 Exact, "AKIA{A16}", "AKIA{A20}";
    "API-" Caps 26 Exact, "API-{A26}", "API-REFERENCE";
    "ASIA" Caps 16 Exact, "ASIA{A16}", "ASIA-PACIFIC";
    "AQVN" Run 35 Mixed, "AQVN{a38}", "AQVN";
    "ATATT3" Base 60 Mixed, "ATATT3{a186}", "ATATT3";
    "ATBB" Word 28 Mixed, "ATBB{a32}", "ATBBASE";
    "ATCTT3" Base 60 Mixed, "ATCTT3xFfGN0{a170}={x8}", "ATCTT3";
    "CCIPAT_" Run 30 Mixed, "CCIPAT_{a22}_{x40}", "CCIPAT_TOKEN";
    "CFPAT-" Run 40 Mixed, "CFPAT-{a43}", "CFPAT-token";
    "CLOJARS_" Word 50 Mixed, "CLOJARS_{x60}", "CLOJARS_USERNAME";
    "EAAAE" Run 50 Mixed, "EAAAE{a59}", "EAAAE";
    "EAACEdEose0cBA" Word 20 Any, "EAACEdEose0cBA{a40}", "EAACEdEose0cBA";
    "EZAK" Word 50 Mixed, "EZAK{a54}", "EZAK";
    "EZTK" Word 50 Mixed, "EZTK{a54}", "EZTK";
    "FLWSECK" Run 12 Digit, "FLWSECK_TEST-{x32}-X", "FLWSECK_TEST";
    "GOCSPX-" Run 20 Any, "GOCSPX-{a28}", "GOCSPX-client";
    "GR1348941" Run 18 Any, "GR1348941{a20}", "GR1348941";
    "HRKU-" Run 30 Mixed, "HRKU-AA{a58}", "HRKU-dyno";
    "LS0tLS1CRUdJTiBFQyBQ" Base 16 Any, "LS0tLS1CRUdJTiBFQyBQ{b200}", "LS0tLS1CRUdJTiBDRVJU{b200}";
    "LS0tLS1CRUdJTiBFTkNS" Base 16 Any, "LS0tLS1CRUdJTiBFTkNS{b200}", "LS0tLS1CRUdJTiBQVUJM{b200}";
    "LS0tLS1CRUdJTiBPUEVO" Base 16 Any, "LS0tLS1CRUdJTiBPUEVO{b200}", "LS0tLS1CRUdJTiBPUEVO";
    "LS0tLS1CRUdJTiBQUklW" Base 16 Any, "LS0tLS1CRUdJTiBQUklW{b200}", "LS0tLS1CRUdJTiBQUklW";
    "LS0tLS1CRUdJTiBSU0Eg" Base 16 Any, "LS0tLS1CRUdJTiBSU0Eg{b200}", "LS0tLS1CRUdJTiBSU0Eg";
    "LTAI" Word 18 Digit, "LTAI{a20}", "LTAI{d2}";
    "NRAK-" Caps 24 Mixed, "NRAK-{A27}", "NRAK-KEY";
    "NRII-" Run 25 Mixed, "NRII-{a32}", "NRII-insert";
    "NRJS-" Run 16 Mixed, "NRJS-{x19}", "NRJS-browser";
    "PMAK-" Run 40 Digit, "PMAK-{x24}-{x34}", "PMAK-postman";
    "SK" Hex 32 Exact, "SK{x32}", "SK{x40}";
    "access-development-" Run 30 Digit, "access-development-{x8}-{x4}-{x4}-{x4}-{x12}", "access-development-team";
    "access-production-" Run 30 Digit, "access-production-{x8}-{x4}-{x4}-{x4}-{x12}", "access-production-logs";
    "access-sandbox-" Run 30 Digit, "access-sandbox-{x8}-{x4}-{x4}-{x4}-{x12}", "access-sandbox-2";
    "aio_" Word 28 Mixed, "aio_{a28}", "aio_context_t";
    "api_org_" Word 30 Mixed, "api_org_{m34}", "api_org_name";
    "bedrock-api-key-" Base 20 Mixed, "bedrock-api-key-{b60}", "bedrock-api-key-rotation";
    "bkua_" Hex 40 Any, "bkua_{x40}", "bkua_x";
    "cmVmd" Word 59 Exact, "cmVmd{a59}", "cmVmdGVy";
    "dapi" Hex 32 Exact, "dapi{x32}", "dapi{x8}";
    "dckr_oat_" Run 20 Mixed, "dckr_oat_{a32}", "dckr_oat_token";
    "dckr_pat_" Run 20 Mixed, "dckr_pat_{a27}", "dckr_pat_xxxxx";
    "dnkey-" Run 60 Mixed, "dnkey-{a26}-{a52}", "dnkey-list";
    "doo_v1_" Hex 40 Any, "doo_v1_{x64}", "doo_v1_x";
    "dop_v1_" Word 20 Mixed, "dop_v1_{x64}", "dop_v1_token";
    "dor_v1_" Hex 40 Any, "dor_v1_{x64}", "dor_v1_x";
    "dp.audit." Run 30 Mixed, "dp.audit.{a43}", "dp.audit.log";
    "dp.ct." Run 30 Mixed, "dp.ct.{a43}", "dp.ct.x";
    "dp.pt." Run 30 Mixed, "dp.pt.{a43}", "dp.pt.x";
    "dp.sa." Run 30 Mixed, "dp.sa.{a43}", "dp.sa.x";
    "dp.scim." Run 30 Mixed, "dp.scim.{a43}", "dp.scim.x";
    "dp.st." Dotted 30 Mixed, "dp.st.dev.{a43}", "dp.st.x";
    "dt0c01." Dotted 60 Mixed, "dt0c01.{A24}.{A64}", "dt0c01.x";
    "dt0s01." Dotted 60 Mixed, "dt0s01.{A24}.{A64}", "dt0s01.x";
    "duffel_live_" Run 30 Mixed, "duffel_live_{a43}", "duffel_live_mode";
    "duffel_test_" Run 30 Mixed, "duffel_test_{a43}", "duffel_test_mode";
    "eyJrIjoi" Base 40 Mixed, "eyJrIjoi{a70}==", "eyJrIjoi";
    "figd_" Run 30 Mixed, "figd_{a40}", "figd_file";
    "fio-u-" Run 50 Mixed, "fio-u-{a64}", "fio-u-name";
    "fm1a_" Base 80 Mixed, "fm1a_{b100}", "fm1a_x";
    "fm1r_" Base 80 Mixed, "fm1r_{b100}", "fm1r_x";
    "fm2_" Base 80 Mixed, "fm2_{b100}", "fm2_x";
    "fo1_" Run 40 Mixed, "fo1_{a43}", "fo1_x";
    "gho_" Word 16 Mixed, "gho_{a36}", "gho_oauth";
    "ghp_" Word 16 Mixed, "ghp_{a36}", "ghp_example";
    "ghr_" Word 16 Mixed, "ghr_{a36}", "ghr_refresh";
    "ghs_" Word 16 Mixed, "ghs_{a36}", "ghs_server";
    "ghu_" Word 16 Mixed, "ghu_{a36}", "ghu_user";
    "github_pat_" Run 16 Digit, "github_pat_{a22}_{a59}", "github_pat_token";
    "glagent-" Run 40 Mixed, "glagent-{a50}", "glagent-config";
    "glc_" Base 30 Mixed, "glc_{b60}", "glc_name";
    "glcbt-" Run 20 Mixed, "glcbt-{x2}_{a20}", "glcbt-job";
    "gldt-" Run 18 Mixed, "gldt-{a20}", "gldt-deploy";
    "glffct-" Run 18 Mixed, "glffct-{a20}", "glffct-flag";
    "glft-" Run 18 Mixed, "glft-{a20}", "glft-feed";
    "glimt-" Run 20 Mixed, "glimt-{a25}", "glimt-mail";
    "gloas-" Run 40 Mixed, "gloas-{x64}", "gloas-app";
    "glpat-" Dotted 20 Any, "glpat-{m20}", "glpat-token";
    "glptt-" Run 30 Mixed, "glptt-{x40}", "glptt-x";
    "glrt-" Dotted 18 Mixed, "glrt-{a20}", "glrt-runner";
    "glsa_" Run 30 Mixed, "glsa_{a32}_{x8}", "glsa_name";
    "glsoat-" Run 18 Mixed, "glsoat-{a20}", "glsoat-scim";
    "gsk_" Word 20 Mixed, "gsk_{a52}", "gsk_name";
    "hf_" Word 20 Mixed, "hf_{m34}", "hf_hub_download";
    "hvb." Run 20 Mixed, "hvb.{a60}", "hvb.x";
    "hvr." Run 20 Mixed, "hvr.{a60}", "hvr.x";
    "hvs." Run 20 Mixed, "hvs.{a24}", "hvs.js";
    "ico-" Word 32 Digit, "ico-{a32}", "ico-converter";
    "lin_api_" Word 30 Mixed, "lin_api_{a40}", "lin_api_url";
    "lin_oauth_" Word 30 Mixed, "lin_oauth_{x64}", "lin_oauth_app";
    "lsv2_" Run 40 Digit, "lsv2_pt_{x32}_{x10}", "lsv2_pt_name";
    "napi_" Word 40 Mixed, "napi_{a64}", "napi_create_function";
    "nfp_" Word 30 Mixed, "nfp_{a36}", "nfp_x";
    "npm_" Word 20 Mixed, "npm_{a36}", "npm_config_registry";
    "ntn_" Word 40 Digit, "ntn_{d11}{a35}", "ntn_page";
    "nvapi-" Run 40 Mixed, "nvapi-{a64}", "nvapi-sdk";
    "ops_eyJ" Base 60 Mixed, "ops_eyJ{b250}", "ops_eyJ";
    "oy2" Word 43 Exact, "oy2{x43}", "oy2{x20}";
    "p8e-" Word 30 Mixed, "p8e-{a32}", "p8e-x";
    "pat" Dotted 79 Exact, "pat{a14}.{x64}", "pat{a14}.x";
    "pat-eu1-" Run 36 Digit, "pat-eu1-{x8}-{x4}-{x4}-{x4}-{x12}", "pat-eu1-x";
    "pat-na1-" Run 36 Digit, "pat-na1-{x8}-{x4}-{x4}-{x4}-{x12}", "pat-na1-x";
    "pat." Dotted 66 Mixed, "pat.{a22}.{x24}.{a20}", "pat.x";
    "phx_" Word 30 Mixed, "phx_{a43}", "phx_digest";
    "pnu_" Word 30 Mixed, "pnu_{a36}", "pnu_x";
    "pplx-" Word 30 Mixed, "pplx-{a48}", "pplx-api";
    "pscale_oauth_" Dotted 30 Mixed, "pscale_oauth_{a43}", "pscale_oauth_app";
    "pscale_pw_" Dotted 30 Mixed, "pscale_pw_{a43}", "pscale_pw_x";
    "pscale_tkn_" Dotted 30 Mixed, "pscale_tkn_{a43}", "pscale_tkn_x";
    "pul-" Hex 40 Any, "pul-{x40}", "pul-sar";
    "pypi-" Run 20 Digit, "pypi-AgEIcHlwaS5vcmc{a60}", "pypi-publish-action";
    "r8_" Word 30 Mixed, "r8_{a37}", "r8_x";
    "rdme_" Word 50 Mixed, "rdme_{a70}", "rdme_x";
    "rk_live_" Word 10 Mixed, "rk_live_{a24}", "rk_live_x";
    "rk_test_" Word 10 Mixed, "rk_test_{a24}", "rk_test_x";
    "rnd_" Word 25 Mixed, "rnd_{a28}", "rnd_generator";
    "rpa_" Word 30 Mixed, "rpa_{A40}", "rpa_x";
    "rubygems_" Hex 40 Any, "rubygems_{x48}", "rubygems_version";
    "s-s4t2" Run 60 Mixed, "s-s4t2ud-{x64}", "s-s4t2ud";
    "sat." Dotted 66 Mixed, "sat.{a22}.{x24}.{a20}", "sat.x";
    "sb_secret_" Run 20 Mixed, "sb_secret_{a31}", "sb_secret_key";
    "sbp_" Hex 36 Any, "sbp_{x40}", "sbp_x";
    "secret_" Word 40 Mixed, "secret_{a43}", "secret_name";
    "sgp_" Run 38 Mixed, "sgp_{x16}_{x40}", "sgp_x";
    "sha256~" Run 40 Mixed, "sha256~{a43}", "sha256~x";
    "shippo_live_" Hex 40 Any, "shippo_live_{x40}", "shippo_live_mode";
    "shippo_test_" Hex 40 Any, "shippo_test_{x40}", "shippo_test_mode";
    "shpat_" Word 30 Mixed, "shpat_{x32}", "shpat_x";
    "shpca_" Word 30 Mixed, "shpca_{x32}", "shpca_x";
    "shppa_" Word 30 Mixed, "shppa_{x32}", "shppa_x";
    "shpss_" Word 30 Mixed, "shpss_{x32}", "shpss_x";
    "sk-" Run 12 Woven, "sk-proj-{a48}", "sk-container-id-1";
    "sk.eyJ" Dotted 40 Mixed, "sk.eyJ1Ijoi{a60}.{a22}", "sk.eyJ";
    "sk_live_" Word 10 Mixed, "sk_live_{a24}", "sk_live_mode";
    "sk_test_" Word 10 Mixed, "sk_test_{a24}", "sk_test_mode";
    "sl." Run 100 Mixed, "sl.{a135}", "sl.d";
    "sm_aat_" Word 16 Mixed, "sm_aat_{a16}", "sm_aat_x";
    "sm_pat_" Word 16 Mixed, "sm_pat_{a16}", "sm_pat_x";
    "sm_sat_" Word 16 Mixed, "sm_sat_{a16}", "sm_sat_x";
    "sntrys_" Base 40 Mixed, "sntrys_eyJpYXQiO{b80}_{b43}", "sntrys_x";
    "sntryu_" Hex 40 Any, "sntryu_{x64}", "sntryu_x";
    "sq0atp-" Run 20 Mixed, "sq0atp-{a22}", "sq0atp-x";
    "sq0csp-" Run 20 Mixed, "sq0csp-{a43}", "sq0csp-x";
    "sqa_" Hex 40 Any, "sqa_{x40}", "sqa_x";
    "sqp_" Hex 40 Any, "sqp_{x40}", "sqp_x";
    "squ_" Hex 40 Any, "squ_{x40}", "squ_are";
    "t1." Dotted 90 Mixed, "t1.{a20}.{a86}", "t1.x";
    "tfp_" Run 40 Mixed, "tfp_{a59}", "tfp_x";
    "tgp_v1_" Run 30 Mixed, "tgp_v1_{a43}", "tgp_v1_x";
    "tk-us-" Run 40 Mixed, "tk-us-{a48}", "tk-us-east";
    "tskey-" Run 20 Mixed, "tskey-auth-{a12}-{a24}", "tskey-auth";
    "tvly-" Run 20 Mixed, "tvly-{a32}", "tvly-search";
    "v1.0-" Run 100 Mixed, "v1.0-{x24}-{x146}", "v1.0-rc1";
    "vercel_blob_rw_" Run 40 Mixed, "vercel_blob_rw_{a16}_{a30}", "vercel_blob_rw_x";
    "whsec_" Base 16 Mixed, "whsec_{b32}", "whsec_x";
    "xai-" Word 20 Mixed, "xai-{a80}", "xai-org";
    "xapp-" Run 10 Digit, "xapp-1-{A11}-{d13}-{x64}", "xapp-name";
    "xkeysib-" Run 40 Mixed, "xkeysib-{x64}-{a16}", "xkeysib-x";
    "xoxa-" Run 10 Digit, "xoxa-{d12}-{a24}", "xoxa-x";
    "xoxb-" Run 10 Digit, "xoxb-{d12}-{d12}-{a24}", "xoxb-token";
    "xoxc-" Run 10 Digit, "xoxc-{d12}-{d12}-{x64}", "xoxc-x";
    "xoxd-" Base 20 Digit, "xoxd-{a60}", "xoxd-x";
    "xoxe-" Run 10 Digit, "xoxe-1-{a140}", "xoxe-x";
    "xoxe." Dotted 20 Digit, "xoxe.xoxp-1-{a140}", "xoxe.x";
    "xoxo-" Run 10 Digit, "xoxo-{d12}-{a24}", "xoxo-x";
    "xoxp-" Run 10 Digit, "xoxp-{d12}-{d12}-{d12}-{x32}", "xoxp-x";
    "xoxr-" Run 10 Digit, "xoxr-{d12}-{a24}", "xoxr-x";
    "xoxs-" Run 10 Digit, "xoxs-{d12}-{a24}", "xoxs-x";
    "xsmtpsib-" Run 40 Mixed, "xsmtpsib-{x64}-{a16}", "xsmtpsib-x";
    "y0_" Run 40 Mixed, "y0_{a58}", "y0_axis";
    "ya29." Dotted 20 Mixed, "ya29.{a100}", "ya29.x";
}

/// The first token of [`TOKENS`] for each first letter, and the one behind the last; the same twice if there is none.
pub const FIRST: [[u8; 2]; 128] = {
    let mut first = [[0; 2]; 128];
    let mut at = 0;
    while at < TOKENS.len() {
        let letter = TOKENS[at].prefix.as_bytes()[0] as usize;
        if first[letter][1] == 0 {
            first[letter][0] = at as u8;
        }
        first[letter][1] = at as u8 + 1;
        at += 1;
    }
    first
};

/// What a name tells of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// A secret whatever it looks like.
    Sure,
    /// A secret if it looks like one.
    Perhaps,
    /// The same, and surely one with another word before it.
    Pass,
    /// A secret if nobody could have made it up.
    Key,
    /// A secret if it is written in base64.
    Coded,
    /// The value of an `Authorization` header.
    Header,
    /// The value of a `Cookie` header.
    Cookie,
}

/// Whether a name may be the end of a longer word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    Anything,
    /// A word of its own: `DB_PASS` and `dbPass`, but not `bypass`.
    Words,
}

macro_rules! names {
    ($($end:literal $name:ident $ends:ident, $yes:literal, $no:literal;)*) => {
        /// The ends of names, without `_` and `-`. The first that fits counts.
        pub const NAMES: &[(&str, Name, Ends)] = &[$(($end, Name::$name, Ends::$ends)),*];
        #[cfg(test)]
        pub const NAME_SAMPLES: &[(&str, &str)] = &[$(($yes, $no)),*];
    };
}

names! {
    "password" Sure Anything, "DB_PASSWORD={p12}", "password: String";
    "passwd" Sure Anything, "\"db_passwd\": \"{p12}\"", "cat /etc/passwd";
    "passphrase" Sure Anything, "passphrase='{p20}'", "enter a passphrase: ";
    "sshpass" Sure Anything, "SSHPASS={p12} ssh host", "sshpass --help";
    "secret" Sure Anything, "client_secret: \"{a32}\"", "the secret is out";
    "secretkeybase" Sure Anything, "SECRET_KEY_BASE={x128}", "secret_key_base: null";
    "secrettoken" Sure Anything, "secret_token = '{x64}'", "secret_token: None";
    "apikey" Sure Anything, "X-Api-Key: {a32}", "api_key=os.environ[\"API_KEY\"]";
    "apitoken" Sure Anything, "API_TOKEN={a40}", "api_token: Option<String>";
    "accesskey" Sure Anything, "AWS_SECRET_ACCESS_KEY={b40}", "access_key = self.key";
    "privatekey" Sure Anything, "WG_PRIVATE_KEY={b43}=", "private_key: &Path";
    "secretkey" Sure Anything, "secretKey: '{a32}'", "secretKey: string";
    "accesstoken" Sure Anything, "?access_token={a32}&x=1", "accessToken: null";
    "authtoken" Sure Anything, "//registry.npmjs.org/:_authToken={a36}", "_authToken=${NPM_TOKEN}";
    "sessiontoken" Sure Anything, "aws_session_token = {b120}", "session_token: missing";
    "refreshtoken" Sure Anything, "\"refresh_token\": \"{a60}\"", "refreshToken: expired";
    "bottoken" Sure Anything, "BOT_TOKEN={d10}:{a35}", "bot_token: undefined";
    "keydata" Key Anything, "client-key-data: {b400}", "certificate-data: {b400}";
    "token" Perhaps Anything, "token={a24}", "Unexpected token: end of file";
    "pass" Pass Words, "SMTP_PASS={p12}", "bypass=on";
    "pw" Pass Words, "DB_PW={p10}", "pw: 12";
    "pwd" Pass Words, "MYSQL_PWD={p10}", "OLDPWD=/home/ann";
    "authorization" Header Anything, "Authorization: Bearer {a40}", "Authorization: required";
    "cookie" Cookie Anything, "Cookie: sid={a32}; theme=dark", "Cookie: a small text";
    "auth" Coded Words, "\"auth\": \"{b36}\"", "auth: oauth2-proxy1";
    "sig" Key Words, "?sv=2022-11-02&sig={a42}%3D", "sig=none";
    "gitlabsession" Key Anything, "_gitlab_session={x32}", "_gitlab_session=none";
    "googsignature" Key Anything, "&X-Goog-Signature={x256}", "X-Goog-Signature=";
    "amzsignature" Key Anything, "&X-Amz-Signature={x64}", "X-Amz-Signature=";
    "credential" Key Anything, "credential={b40}", "credential: missing";
    "credentials" Key Anything, "credentials: {b44}", "credentials: see the wiki";
    "key" Key Anything, "AccountKey={b86}==", "primary_key = users_id_1";
}

/// Last words of names that only tell which of several it is.
pub const STAGES: [&str; 10] =
    ["prod", "production", "dev", "development", "test", "staging", "stage", "live", "old", "new"];

/// Words before a name and its value with nothing but a blank between them: `ENV API_KEY value`.
pub const SETTERS: [&str; 3] = ["set", "setenv", "ENV"];

/// Names of keys that everybody may know.
pub const KNOWN_KEYS: [&str; 12] = [
    "publickey",
    "pubkey",
    "cachekey",
    "idempotencykey",
    "primarykey",
    "foreignkey",
    "partitionkey",
    "sortkey",
    "hostkey",
    "groupkey",
    "dedupkey",
    "lookupkey",
];

macro_rules! pairs {
    ($(#[doc = $about:literal])* $table:ident, $samples:ident: $type:ty { $($row:expr, $yes:literal, $no:literal;)* }) => {
        $(#[doc = $about])*
        pub const $table: &[$type] = &[$($row),*];
        #[cfg(test)]
        pub const $samples: &[(&str, &str)] = &[$(($yes, $no)),*];
    };
}

pairs! {
    /// Addresses that let in whoever knows their end.
    HOOKS, HOOK_SAMPLES: &str {
        "api.telegram.org/bot", "https://api.telegram.org/bot{d10}:{a35}/x", "https://api.telegram.org/bots";
        "chat.googleapis.com/v1/spaces/", "https://chat.googleapis.com/v1/spaces/{A11}/messages?key={a39}", "chat.googleapis.com/v1";
        "discord.com/api/webhooks/", "https://discord.com/api/webhooks/{d18}/{a68}", "https://discord.com/api/webhooks";
        "discordapp.com/api/webhooks/", "https://discordapp.com/api/webhooks/{d18}/{a68}", "discordapp.com/api";
        "hooks.slack.com/services/", "https://hooks.slack.com/services/T{A8}/B{A8}/{a24}", "https://hooks.slack.com/services/…";
        "hooks.slack.com/triggers/", "https://hooks.slack.com/triggers/T{A8}/{d13}/{x32}", "hooks.slack.com/triggers";
        "hooks.slack.com/workflows/", "https://hooks.slack.com/workflows/T{A8}/A{A8}/{d18}/{a24}", "hooks.slack.com/workflows";
        "hooks.zapier.com/hooks/catch/", "https://hooks.zapier.com/hooks/catch/{d7}/{a7}/", "hooks.zapier.com/hooks";
        "open.feishu.cn/open-apis/bot/v2/hook/", "https://open.feishu.cn/open-apis/bot/v2/hook/{x8}-{x4}-{x4}-{x4}-{x12}", "open.feishu.cn/open-apis";
        "outlook.office.com/webhook/", "https://outlook.office.com/webhook/{x8}-{x4}-{x4}-{x4}-{x12}@{x32}/IncomingWebhook/{x32}/{x8}", "outlook.office.com/mail";
        "webhook.office.com/webhookb2/", "https://x.webhook.office.com/webhookb2/{x8}-{x4}-{x4}-{x4}-{x12}@{x32}/IncomingWebhook/{x32}/{x8}", "x.webhook.office.com";
    }
}

/// Where an option of a command has its secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In the next word.
    Next,
    /// Right behind the option.
    Attached,
    /// Either of the two.
    Both,
    /// In the next word, behind `user:`, `user%` or `name=`.
    Pair,
    /// In the next word, behind `pass:`.
    Source,
}

/// An option that takes a secret: its programs, a word that must stand between, if any, and the form.
pub type Option_ = (&'static [&'static str], &'static str, &'static str, Form);

const MYSQL: &[&str] =
    &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow", "mariadb", "mariadb-dump"];
const LOGIN: &[&str] = &["docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "az", "oc", "cf"];
const MONGO: &[&str] =
    &["mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport", "cqlsh"];
const LDAP: &[&str] = &["ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldappasswd", "ldapwhoami"];

pairs! {
    /// Options of commands that take a secret.
    OPTIONS, OPTION_SAMPLES: Option_ {
        (&["curl"], "", "-u", Form::Pair), "curl -u ann:{p10} https://x", "curl -u ann https://x";
        (&["curl"], "", "--user", Form::Pair), "curl -s --user 'ann:{p10}' https://x", "docker run --user 1000:1000 x";
        (&["curl"], "", "-U", Form::Pair), "curl -x proxy:80 -U ann:{p10} x", "curl -U ann x";
        (&["curl"], "", "--proxy-user", Form::Pair), "curl --proxy-user ann:{p10} x", "curl --proxy-user $P x";
        (&["curl"], "", "-b", Form::Pair), "curl -b 'sid={a32}' https://x", "curl -b cookies.txt https://x";
        (&["curl"], "", "--cookie", Form::Pair), "curl --cookie 'sid={a32}; theme=dark' https://x", "curl --cookie jar https://x";
        (&["http", "https", "xh"], "", "-a", Form::Pair), "http -a ann:{p10} example.org", "http -a ann example.org";
        (&["http", "https", "xh"], "", "--auth", Form::Pair), "http --auth ann:{p10} example.org", "http --auth ann x";
        (&["smbclient", "rpcclient", "mount.cifs"], "", "-U", Form::Pair), "smbclient //h/s -U ann%{p10}", "smbclient //h/s -U ann";
        (MYSQL, "", "-p", Form::Attached), "mysql -u root -p{a10} db", "mysql -u root -p db";
        (&["7z", "7za", "7zz"], "", "-p", Form::Attached), "7z x -p{a10} a.7z", "7z x a.7z -y";
        (&["sshpass"], "", "-p", Form::Both), "sshpass -p {p10} ssh h", "sshpass -f file ssh h";
        (&["sqlcmd", "bcp"], "", "-P", Form::Both), "sqlcmd -U sa -P {p10}", "sqlcmd -U sa";
        (LOGIN, "login", "-p", Form::Next), "docker login -u ann -p {p10} x", "docker run -p 8080:80 x";
        (MONGO, "", "-p", Form::Next), "mongosh -u ann -p {p10}", "mongosh --port 1";
        (LDAP, "", "-w", Form::Next), "ldapsearch -D cn=x -w {p10}", "grep -w word";
        (&["redis-cli"], "", "-a", Form::Next), "redis-cli -a {p10} ping", "ls -a x";
        (&["zip", "unzip", "mosquitto_pub", "mosquitto_sub"], "", "-P", Form::Next), "zip -P {p10} a.zip f", "zip -r a.zip f";
        (&["openssl"], "", "-passin", Form::Source), "openssl rsa -passin pass:{p10}", "openssl rsa -passin env:X";
        (&["openssl"], "", "-passout", Form::Source), "openssl rsa -passout pass:{p10}", "openssl rsa -passout stdin";
        (&["openssl"], "", "-pass", Form::Source), "openssl enc -pass pass:{p10}", "openssl enc -pass file:x";
        (&["openssl"], "", "-k", Form::Next), "openssl enc -aes-256-cbc -k {p10}", "curl -k https://x";
    }
}

/// What joins the two halves of a token, and the least length of each.
pub struct Joint {
    pub mark: &'static str,
    /// What stands before it, of so many letters.
    pub before: Class,
    pub lengths: std::ops::RangeInclusive<usize>,
    /// How it must end.
    pub end: &'static str,
    pub behind: usize,
}

pairs! {
    /// Tokens that are known by what is in their middle.
    JOINTS, JOINT_SAMPLES: Joint {
        Joint { mark: ".atlasv1.", before: Class::Word, lengths: 14..=14, end: "", behind: 60 },
            "{a14}.atlasv1.{a67}", "x.atlasv1.y";
        Joint { mark: "~", before: Class::Word, lengths: 5..=5, end: "Q", behind: 31 },
            "{a3}8Q~{a34}", "FAQ~";
        Joint { mark: ":AA", before: Class::Hex, lengths: 8..=10, end: "", behind: 30 },
            "{d10}:AA{a33}", "10:AA";
        Joint { mark: "|", before: Class::Hex, lengths: 15..=16, end: "", behind: 27 },
            "{d15}|{a27}", "{d15}|x";
    }
}

/// Words of the labels of blocks (`-----BEGIN … -----`) that are secret.
pub const BLOCKS: [&str; 3] = ["PRIVATE KEY", "SECRET KEY", "STATIC KEY"];

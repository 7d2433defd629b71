//! The console: pages for operators and for authors of skills, served at `/console`.
//!
//! The pages are files that are compiled in. They know nothing but the API of the server, and ask
//! for a key like any other client, so whoever reads them learns nothing about the server.
//!
//! INVARIANT(pages-run-own-scripts): the headers of every page let a browser run the scripts of the
//! console and nothing else: no script in a page, no text that becomes one, no other website's. What
//! programs print and blobs hold is shown as text or as an image. Markdown and HTML are read by scripts
//! of the console, which build elements from fixed lists.
//!
//! # Why
//!
//! The pages are written by hand as modules of JavaScript: what the browser runs is what a reader of
//! this folder sees, and a build needs no other tools.

mod files;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;

use crate::console::files::{PageFile, find};

/// What a browser may load and do on a page. There are no frames at all, and `trusted-types 'none'`
/// makes every text that would become markup an error.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'",
);

/// Further headers of every answer.
const HEADERS: [(HeaderName, HeaderValue); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ),
];

/// The routes of the console.
pub fn pages() -> Router {
    Router::new()
        .route("/console", get(|headers: HeaderMap| async move { show("index.html", &headers) }))
        .route("/console/", get(|headers: HeaderMap| async move { show("index.html", &headers) }))
        .route("/console/{file}", get(show_named))
}

async fn show_named(Path(name): Path<String>, headers: HeaderMap) -> Response {
    show(&name, &headers)
}

/// Answers with a file, or says that the browser has it already.
fn show(name: &str, headers: &HeaderMap) -> Response {
    let Some(file) = find(name) else {
        return answer(StatusCode::NOT_FOUND, Body::from("this page does not exist\n"));
    };
    let known = headers.get_all(header::IF_NONE_MATCH).iter();
    if known.filter_map(|tags| tags.to_str().ok()).any(|tags| names_tag(tags, file)) {
        return tagged(answer(StatusCode::NOT_MODIFIED, Body::empty()), file);
    }
    let mut answer = tagged(answer(StatusCode::OK, Body::from(file.bytes)), file);
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(file.kind));
    answer
}

/// True if a list of tags has that of the file.
fn names_tag(tags: &str, file: &PageFile) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches("W/") == file.tag;
    tags.trim() == "*" || tags.split(',').any(bare)
}

fn tagged(mut answer: Response, file: &PageFile) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&file.tag) {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    // Kept by the browser, and compared with the server's at each use: files of two versions of the
    // server never mix.
    let policy = HeaderValue::from_static("no-cache");
    answer.headers_mut().insert(header::CACHE_CONTROL, policy);
    answer
}

fn answer(status: StatusCode, body: Body) -> Response {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().extend(HEADERS);
    answer
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;
    use crate::console::files::FILES;

    async fn ask(path: &str, tag: Option<&str>) -> (Response<()>, Vec<u8>) {
        let mut request = Request::get(path);
        if let Some(tag) = tag {
            request = request.header(header::IF_NONE_MATCH, tag);
        }
        let answer = pages().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let (parts, body) = answer.into_parts();
        (Response::from_parts(parts, ()), body.collect().await.unwrap().to_bytes().to_vec())
    }

    #[tokio::test]
    async fn pages_run_own_scripts() {
        for path in ["/console", "/console/", "/console/app.js", "/console/nothing"] {
            let (answer, _) = ask(path, None).await;
            let policy = answer.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            let rules: Vec<&str> = policy.split(';').map(str::trim).collect();
            for rule in ["default-src 'none'", "script-src 'self'", "trusted-types 'none'"] {
                assert!(rules.contains(&rule), "{path}: {policy}");
            }
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(answer.headers()[header::X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
        }
        // What the policy would refuse must not be in the page in the first place.
        let (_, page) = ask("/console", None).await;
        let page = String::from_utf8(page).unwrap();
        assert!(
            page.contains("<script type=\"module\" src=\"/console/app.js\"></script>"),
            "{page}"
        );
        assert_eq!(page.matches("<script").count(), 1);
        for inline in
            ["<style", " style=", " onclick=", " onload=", "javascript:", "http://", "https://"]
        {
            assert!(!page.contains(inline), "{inline}");
        }
    }

    #[test]
    fn no_script_makes_markup_of_text() {
        for file in FILES.iter().filter(|file| file.name.ends_with(".js")) {
            let text = std::str::from_utf8(file.bytes).unwrap();
            for sink in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                ".srcdoc",
                "DOMParser",
                "eval(",
                "new Function",
                "createContextualFragment",
                "localStorage",
            ] {
                assert!(!text.contains(sink), "{}: {sink}", file.name);
            }
        }
    }

    #[tokio::test]
    async fn a_browser_keeps_a_file_until_it_changes() {
        let (answer, body) = ask("/console/style.css", None).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/css; charset=utf-8");
        assert!(!body.is_empty());
        let tag = answer.headers()[header::ETAG].to_str().unwrap().to_owned();
        for known in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
            let (answer, body) = ask("/console/style.css", Some(&known)).await;
            assert_eq!((answer.status(), body.len()), (StatusCode::NOT_MODIFIED, 0), "{known}");
            assert_eq!(answer.headers()[header::ETAG], tag.as_str());
        }
        let (answer, _) = ask("/console/style.css", Some("\"other\"")).await;
        assert_eq!(answer.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn nothing_but_the_files_is_served() {
        for path in
            ["/console/mod.rs", "/console/..%2Fmod.rs", "/console/%2e%2e", "/console/app.js/x"]
        {
            assert_eq!(ask(path, None).await.0.status(), StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_served() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console/page");
        let entries = std::fs::read_dir(folder).unwrap();
        let mut there: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        there.sort();
        assert_eq!(FILES.iter().map(|file| file.name).collect::<Vec<_>>(), there);
    }
}

//! Requests that web pages make from the browsers of others, who know nothing of them.

use std::net::IpAddr;

use attache_core::MediaType;
use http::Uri;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;

/// True if the body says that it is JSON. A page may send a stranger anything else without asking first.
pub(super) fn is_json(head: &Parts) -> bool {
    let said = head.headers.get(CONTENT_TYPE).and_then(|said| said.to_str().ok()).and_then(MediaType::parse);
    said.is_some_and(|said| matches!(said.essence(), "application/json" | "application/a2a+json"))
}

/// True if a request comes to one of these hosts, and of no page of others: a page may give this machine a name of its own.
pub(super) fn is_let_in(head: &Parts, hosts: &[String]) -> bool {
    let header = |name| head.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    // HTTP/2 has it in the address.
    let host = head.uri.authority().map(|authority| authority.host().to_owned());
    let host = host.or_else(|| host_of(&format!("http://{}", header(HOST)?)));
    let Some(host) = host else { return false };
    // No page has a number by rebinding a name to it, but one may come from a number.
    let is_page_let_in = |origin: &str| {
        host_of(origin).is_some_and(|page| {
            page == host || number(&page).is_some_and(|number| number.is_loopback()) || is_named(&page, hosts)
        })
    };
    (number(&host).is_some() || is_named(&host, hosts)) && header(ORIGIN).is_none_or(is_page_let_in)
}

/// The host of an absolute address.
pub(super) fn host_of(url: &str) -> Option<String> {
    url.trim().parse::<Uri>().ok()?.host().map(str::to_owned)
}

fn number(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// True for `localhost` and hosts that are named.
fn is_named(host: &str, hosts: &[String]) -> bool {
    let host = host.trim_end_matches('.');
    let is = |own: &str| own.trim_end_matches('.').eq_ignore_ascii_case(host);
    is("localhost") || hosts.iter().any(|own| is(own))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use attache_agent::bodies::Bodies;
    use attache_agent::{Agent, MemorySessions, Sessions};
    use attache_testkit::ScriptedModel;
    use axum::body::{Body, Bytes};
    use futures_util::{FutureExt as _, StreamExt as _};
    use http::header::RETRY_AFTER;
    use http::{Request, Response};

    use super::*;
    use crate::server::tasks::Tasks;
    use crate::server::{BODIES, READING, Served, read};

    /// A server of callers who say who they are.
    fn served(bodies: usize) -> Served {
        let agent = Agent::builder(ScriptedModel::new([]).unverified()).build().unwrap();
        Served {
            card: String::new(),
            tag: String::new(),
            tasks: Arc::new(Tasks::new(Sessions::new(agent, Arc::new(MemorySessions::default())))),
            principals: Some(Arc::new(|head| Some(head.uri.path().to_owned()))),
            readers: None,
            bodies: Bodies::new(bodies, 1 << 20, READING),
            hosts: None,
        }
    }

    // Each of them is within its time and its size.
    #[tokio::test(start_paused = true)]
    async fn large_bodies_that_come_slowly_are_bounded_in_all() {
        let served = served(4 << 20);
        let again = |refused: &Response<Body>| refused.headers().contains_key(RETRY_AFTER);
        let begin = |principal: &str| {
            let piece = Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 1 << 20]));
            let pieces = futures_util::stream::once(async { piece }).chain(futures_util::stream::pending());
            let request = Request::post(principal).header(CONTENT_TYPE, "application/json");
            let reading = read(&served, request.body(Body::from_stream(pieces)).unwrap());
            Box::pin(reading).then(async |read| {
                read.map_or_else(|refused| (refused.status().as_u16(), again(&refused)), |_| (200, false))
            })
        };
        let slow: Vec<_> = ["/ann", "/ann", "/ann", "/bob", "/bob", "/bob"].into_iter().map(begin).collect();
        let ended = futures_util::future::join_all(slow).await;
        // 2 MiB of each are two of its bodies with the first 64 KiB of each beside them.
        let (slow, crowded) = ((408, false), (503, true));
        assert_eq!(ended, [slow, slow, crowded, slow, slow, crowded]);
        let small = Request::post("/ann").header(CONTENT_TYPE, "application/json").body(Body::from("{}"));
        assert!(read(&served, small.unwrap()).await.is_ok());
    }

    // A body of 48 MiB is not read for a refusal, and one that never ends holds nobody for ever.
    #[tokio::test(start_paused = true)]
    async fn a_body_is_read_for_a_while_and_only_if_it_is_json() {
        let served = served(BODIES);
        let status = async |said: Option<&str>, body: Body| {
            let mut request = Request::post("/");
            if let Some(said) = said {
                request = request.header(CONTENT_TYPE, said);
            }
            let begun = tokio::time::Instant::now();
            let read = read(&served, request.body(body).unwrap()).await;
            (read.map_or_else(|refused| refused.status().as_u16(), |_| 200), begun.elapsed().as_secs())
        };
        let endless = || Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let of = |pieces: &'static [&'static str]| {
            let pieces =
                pieces.iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from_static(piece.as_bytes())));
            Body::from_stream(futures_util::stream::iter(pieces))
        };
        let json = Some("application/json");
        assert_eq!(status(Some("text/plain"), endless()).await, (415, 0));
        assert_eq!(status(json, endless()).await, (408, 30));
        assert_eq!(status(None, Body::from("{}")).await, (415, 0));
        // The end of these is not told beforehand, as that of an empty one in chunks.
        for (said, body, expected) in [
            (None, of(&[]), 200),
            (None, of(&[""]), 200),
            (None, of(&["", "{}"]), 415),
            (json, of(&["{", "}"]), 200),
            (Some("text/plain"), Body::empty(), 200),
        ] {
            assert_eq!(status(said, body).await, (expected, 0), "{said:?}");
        }
        assert_eq!(status(None, endless()).await, (408, 30));
    }

    #[test]
    fn requests_are_let_in_by_their_host_and_their_page() {
        let hosts = ["leases.example".to_owned()];
        let is_let_in = |host: &str, origin: Option<&str>| {
            let mut request = Request::post("/").header(HOST, host);
            if let Some(origin) = origin {
                request = request.header(ORIGIN, origin);
            }
            super::is_let_in(&request.body(()).unwrap().into_parts().0, &hosts)
        };
        for host in ["localhost:8080", "127.0.0.1:1", "[::1]:80", "10.0.0.7", "LEASES.example.:443"] {
            assert!(is_let_in(host, None), "{host}");
        }
        // DNS rebinding.
        for host in ["evil.example", "leases.example.evil.example", "", "localhost.evil.example:80"] {
            assert!(!is_let_in(host, None), "{host}");
        }
        for page in
            ["http://localhost:3000", "http://127.0.0.1:3000", "https://leases.example", "http://10.0.0.7"]
        {
            assert!(is_let_in("10.0.0.7", Some(page)), "{page}");
        }
        for page in ["https://evil.example", "null", "http://6.6.6.6", ""] {
            assert!(!is_let_in("10.0.0.7", Some(page)), "{page}");
        }
    }
}

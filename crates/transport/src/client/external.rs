//! Requests over a `reqwest::Client`.

use attache_core::{ErrorKind, ProviderError};
use http::{Request, Response};
use reqwest::{Body, Client};

use super::failure::{Broken, Unanswered};
use crate::body::EncodedBody;

/// The answer to a request. Its body is handed over piece by piece as it is.
pub(super) async fn answer(
    client: &Client,
    request: Request<EncodedBody>,
) -> Result<Response<Body>, Unanswered> {
    let request = reqwest::Request::try_from(request.map(Body::wrap)).map_err(broken)?;
    let asked = request.url().clone();
    let response = client.execute(request).await.map_err(broken)?;
    if *response.url() != asked {
        let message = "the reqwest client followed a redirect; build it with `redirect(Policy::none())`";
        return Err(Unanswered::Failed(ProviderError::new(ErrorKind::Configuration, message)));
    }
    Ok(response.into())
}

/// Its errors show the whole address otherwise, the query included.
fn broken(error: reqwest::Error) -> Unanswered {
    // Sent once more they would end alike, and a redirect has taken the key along already.
    if error.is_builder() || error.is_redirect() {
        let message = format!("the reqwest client refuses the request: {}", error.without_url());
        return Unanswered::Failed(ProviderError::new(ErrorKind::Configuration, message));
    }
    let (is_connect, is_slow) = (error.is_connect(), error.is_timeout());
    let mut broken = Broken::new(error.without_url(), is_connect);
    broken.is_slow |= is_slow;
    Unanswered::Broken(broken)
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use bytes::Bytes;
    use http_body::Body as _;

    use super::*;
    use crate::body::Frames;

    #[test]
    fn bodies_are_handed_over_without_a_copy() {
        let pieces: Vec<Bytes> = (0..3).map(|byte| Bytes::from(vec![byte; 1 << 20])).collect();
        let mut frames = Frames::default();
        pieces.iter().for_each(|piece| frames.share(piece.clone()));
        let mut body = Body::wrap(frames.into_body());
        assert_eq!(body.size_hint().exact(), Some(3 << 20), "so it has a content length");
        let mut context = Context::from_waker(Waker::noop());
        for piece in pieces {
            let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) else {
                panic!("bytes in memory are always ready");
            };
            assert_eq!(frame.into_data().unwrap().as_ptr(), piece.as_ptr());
        }
        assert!(body.is_end_stream());
    }
}

//! The routes.

mod ag_ui;
mod answers_by_log;
mod approvals;
mod begin_run;
mod body_and_agent;
mod changes;
mod chat;
mod chat_config;
mod cors;
mod documents;
mod health;
mod json_answer;
mod messages;
mod metrics;
mod models;
mod openapi;
#[cfg(feature = "previews")]
mod previews;
mod responses;
mod runs;
mod runs_by_log;
mod sessions;
mod thread;
mod tools;
mod typed_lines;
mod vercel_ui;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::IntoResponse as _;
use axum::routing::{delete, get, post};

use crate::app::App;
use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::{middleware, web};

/// The routes under a path, which is empty or begins with `/`; with those of the chat if `has_web`, without those of the
/// dialects that are `off`, and with those of others.
pub(crate) fn router(
    app: &Arc<App>,
    base: &str,
    has_web: bool,
    off: &[Dialect],
    mounted: Vec<(String, Router)>,
) -> Router {
    let asked = Router::new()
        .route("/v1/chat/stream", post(typed_lines::stream))
        .route("/v1/chat/stream/{task}", delete(typed_lines::abort))
        .route("/v1/chat/tool-result", post(typed_lines::tool_result))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{id}", get(models::one))
        .route("/v1/tools", get(tools::list))
        .route("/v1/tools/{name}", get(tools::one))
        .route("/v1/sessions", get(sessions::list).post(sessions::create).delete(sessions::clear))
        .route("/v1/chat/config", get(chat_config::config))
        .route("/v1/sessions/{id}", get(sessions::one).patch(changes::rename).delete(sessions::delete))
        .route("/v1/sessions/{id}/fork", post(changes::fork))
        .route("/v1/sessions/{id}/export", get(changes::export))
        .route("/v1/sessions/{id}/runs", post(runs::start))
        .route("/v1/sessions/{id}/documents/{document}", get(documents::of_session))
        .route("/v1/runs/{id}", get(runs::one))
        .route("/v1/runs/{id}/events", get(runs::events))
        .route("/v1/runs/{id}/cancel", post(runs::cancel))
        .route("/v1/runs/{id}/messages", post(runs::message))
        .route("/v1/runs/{id}/resume", post(runs::resume))
        .route("/v1/approvals", get(approvals::list))
        .route("/v1/approvals/{id}", post(approvals::decide))
        .route("/metrics", get(metrics::metrics))
        .route("/openapi.json", get(openapi::document))
        .route("/v1/documents", post(documents::upload))
        .route("/v1/documents/{id}", get(documents::download).delete(documents::delete))
        .merge(dialects(off));
    #[cfg(feature = "previews")]
    let asked = asked
        .route("/v1/documents/{id}/text", get(previews::text))
        .route("/v1/documents/{id}/pages/{page}", get(previews::page))
        .route("/v1/documents/{id}/pages/{page}/passage", get(previews::passage))
        .route("/v1/sessions/{id}/documents/{document}/text", get(previews::text_of_session))
        .route("/v1/sessions/{id}/documents/{document}/pages/{page}", get(previews::page_of_session))
        .route(
            "/v1/sessions/{id}/documents/{document}/pages/{page}/passage",
            get(previews::passage_of_session),
        );
    let asked = asked.route_layer(from_fn_with_state(Arc::clone(app), middleware::admit));
    let mounted = mounted.into_iter().fold(Router::new(), |routes, (path, others)| {
        let place: Arc<str> = format!("{base}{path}").into();
        let others = others
            .layer(from_fn(middleware::may_run))
            .layer(from_fn_with_state(Arc::clone(app), middleware::admit))
            .layer(from_fn_with_state(place, middleware::name));
        // The others answer also for a path below theirs that is no route, and for their own with a slash behind it.
        routes.nest_service(&path, others)
    });
    let open =
        Router::new().route("/v1/health", get(health::live)).route("/v1/health/ready", get(health::ready));
    let files = if has_web { web::routes(base, &app.frames) } else { Router::new() };
    let routes = asked
        .merge(open)
        .merge(messages_of(app, off))
        .merge(files)
        .fallback(|| async { Fault::not_found("route").into_response() })
        .method_not_allowed_fallback(|| async { Fault::no_method().into_response() })
        .with_state(Arc::clone(app))
        .merge(mounted);
    let routes = match base {
        "" => routes,
        base => {
            let routes = Router::new().nest(base, routes);
            // The router takes the path of the page for another one with a slash behind it.
            let page = || web::page(base, &app.frames);
            let routes = if has_web { routes.route(&format!("{base}/"), page()) } else { routes };
            routes.fallback(|| async { Fault::not_found("route").into_response() })
        }
    };
    let routes = match app.origins.as_slice() {
        [] => routes,
        origins => routes.layer(cors::layer(origins, &app.headers, app.auth.hook.is_some())),
    };
    routes.layer(from_fn_with_state(Arc::clone(app), middleware::mark))
}

/// The routes of Anthropic's API, if they are on, with errors in its shape.
fn messages_of(app: &Arc<App>, off: &[Dialect]) -> Router<Arc<App>> {
    if off.contains(&Dialect::Messages) {
        return Router::new();
    }
    Router::new()
        .route("/v1/messages", post(messages::create))
        .route("/v1/messages/count_tokens", post(messages::count_tokens))
        .route_layer(from_fn_with_state(Arc::clone(app), middleware::admit))
        .layer(from_fn(middleware::unbroken))
        .layer(map_response(messages::shaped))
}

/// The routes of the dialects that are on.
fn dialects(off: &[Dialect]) -> Router<Arc<App>> {
    let on = |dialect| !off.contains(&dialect);
    let mut routes = Router::new();
    if on(Dialect::ChatCompletions) {
        routes = routes.route("/v1/chat/completions", post(chat::completions));
    }
    if on(Dialect::Responses) {
        routes = routes
            .route("/v1/responses", post(responses::create))
            .route("/v1/responses/{id}", get(responses::one).delete(responses::delete))
            .route("/v1/responses/{id}/cancel", post(responses::cancel));
    }
    if on(Dialect::AgUi) {
        routes = routes.route("/v1/ag-ui", post(ag_ui::run));
    }
    if on(Dialect::UiMessages) {
        routes =
            routes.route("/v1/ui", post(vercel_ui::chat)).route("/v1/ui/{id}/stream", get(vercel_ui::resume));
    }
    routes
}

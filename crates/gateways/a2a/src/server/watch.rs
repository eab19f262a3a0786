//! Looks after tasks for whoever wants to be told of them.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use attache_transport::HttpClient;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::error::Refusal;
use super::notify::{Asked, Target};
use super::shape::Shape;
use super::step::news;
use super::tasks::Tasks;
use super::view::{View, Wanted};
use crate::wire::{A2aState, A2aVersion};

/// The wait between two looks at a task that is not driven here; it doubles.
const FIRST_LOOK: Duration = Duration::from_millis(500);
const LAST_LOOK: Duration = Duration::from_secs(30);
/// The time for which a task is watched.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The waits before a notification is sent again.
const AGAIN: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];

impl Tasks {
    /// Does what a caller asks about the notifications of one of its tasks.
    pub(crate) async fn notifications(
        self: &Arc<Self>,
        principal: &str,
        asked: Asked,
        params: &Value,
        version: A2aVersion,
    ) -> Result<Value, Refusal> {
        let Some(notifications) = &self.notifications else { return Err(Refusal::NoPush) };
        let text = |name: &str| params.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let is_old = version == A2aVersion::V0_3;
        // The older version calls the task `id` in all but one of them.
        let task = if is_old && asked != Asked::Set { text("id") } else { text("taskId") };
        let task = task.ok_or(Refusal::InvalidParams("the task is not named"))?;
        // Those of others are not there.
        self.view(principal, task, Wanted::STATE).await?;
        let named = if is_old { text("pushNotificationConfigId") } else { text("id") };
        let targets = notifications.targets(task);
        let found = || match named {
            Some(id) => targets.iter().find(|target| target.id == id),
            None if is_old => targets.first(),
            None => None,
        };
        Ok(match asked {
            Asked::Set => {
                let config = if is_old { params.get("pushNotificationConfig") } else { Some(params) };
                let config = config.ok_or(Refusal::InvalidParams("`pushNotificationConfig` is missing"))?;
                self.notify(principal, task, config, version)?
            }
            Asked::Get => {
                let unknown = Refusal::InvalidParams("there is no such notification");
                found().ok_or(unknown)?.shown(task, version)
            }
            Asked::List => {
                let shown: Vec<Value> = targets.iter().map(|target| target.shown(task, version)).collect();
                if is_old { shown.into() } else { json!({"configs": shown, "nextPageToken": ""}) }
            }
            Asked::Delete => {
                let id = found().map(|target| target.id.clone());
                let mut by_task = notifications.lock();
                if let (Some(id), Some(kept)) = (id, by_task.get_mut(task)) {
                    kept.targets.retain(|target| target.id != id);
                }
                if is_old { Value::Null } else { json!({}) }
            }
        })
    }

    /// Sends notifications of a task to an address of the caller, from now on.
    pub(crate) fn notify(
        self: &Arc<Self>,
        principal: &str,
        task: &str,
        config: &Value,
        version: A2aVersion,
    ) -> Result<Value, Refusal> {
        let notifications = self.notifications.as_ref().ok_or(Refusal::NoPush)?;
        let target = notifications.target(config, version)?;
        let shown = target.shown(task, version);
        if notifications.keep(principal, task, target)? {
            let watching = watch(Arc::downgrade(self), principal.to_owned(), task.to_owned());
            tokio::spawn(watching);
        }
        Ok(shown)
    }

    /// Says whether what a caller asks for could be done, before its task begins or goes on.
    pub(crate) fn may_notify(
        &self,
        principal: &str,
        task: Option<&str>,
        config: &Value,
        version: A2aVersion,
    ) -> Result<(), Refusal> {
        let notifications = self.notifications.as_ref().ok_or(Refusal::NoPush)?;
        let target = notifications.target(config, version)?;
        notifications.has_room(principal, task, &target.id)
    }
}

/// Looks after a task until it is over, and tells of each state that it comes to: its questions and its end. It keeps
/// nothing of the server while it waits, so that the runs end with the server.
async fn watch(tasks: Weak<Tasks>, principal: String, task: String) {
    let (end, mut wait) = (Instant::now() + LIFETIME, FIRST_LOOK);
    let mut told = Told::default();
    while Instant::now() < end {
        let Some(served) = tasks.upgrade() else { return };
        let Some(notifications) = &served.notifications else { return };
        let step = served.unseen_step(&task);
        let step = match served.view(&principal, &task, Wanted::STATE).await {
            Ok((_, view)) => {
                let state = (view.state, view.at);
                if told.state != Some(state) {
                    told = Told { state: Some(state), ..Told::default() };
                    wait = FIRST_LOOK;
                }
                let is_final = view.state.is_final();
                let is_told = is_final || view.state.is_waiting();
                if is_told && !told.left(notifications.targets(&task)).is_empty() {
                    drop(served);
                    let pause = told.attempt(&tasks, &principal, &task).await;
                    sleep(pause.unwrap_or(wait)).await;
                    if pause.is_none() {
                        wait = (wait * 2).min(LAST_LOOK);
                    }
                    continue;
                }
                if notifications.is_done(&task, is_final, &told.reached) {
                    return;
                }
                step.or_else(|| served.step(&task))
            }
            Err(Refusal::TaskNotFound) => break,
            // Its log cannot be read now.
            Err(_) => None,
        };
        drop(served);
        // A run that is driven here wakes us.
        let is_woken = news(step).await;
        if !is_woken {
            sleep(wait).await;
            wait = (wait * 2).min(LAST_LOOK);
        }
    }
    if let Some(tasks) = tasks.upgrade()
        && let Some(notifications) = &tasks.notifications
    {
        notifications.lock().remove(&task);
    }
}

/// A state of a task, with those that need not be told of it any more and the attempts that failed with others.
#[derive(Default)]
struct Told {
    state: Option<(A2aState, u64)>,
    reached: Vec<String>,
    failed: HashMap<String, usize>,
}

impl Told {
    /// Those that are to be told.
    fn left(&self, mut targets: Vec<Target>) -> Vec<Target> {
        targets.retain(|target| !self.reached.contains(&target.id));
        targets
    }

    /// Tells those that are left once, and yields the wait before the next look; `None` where the task cannot be read. It
    /// has a place for this attempt alone, so that addresses that do not answer leave it to others in between.
    async fn attempt(&mut self, tasks: &Weak<Tasks>, principal: &str, task: &str) -> Option<Duration> {
        let (turn, places, client) = {
            let served = tasks.upgrade()?;
            let notifications = served.notifications.as_ref()?;
            (notifications.turn(task)?, Arc::clone(&notifications.places), notifications.client.clone())
        };
        let turn = turn.lock().await;
        let _place = places.take(principal).await;
        drop(turn);
        let served = tasks.upgrade()?;
        // Some may be deleted by now, and the state may be another one.
        let targets = self.left(served.notifications.as_ref()?.targets(task));
        if targets.is_empty() {
            return Some(Duration::ZERO);
        }
        let (_, whole) = served.view(principal, task, Wanted::ALL).await.ok()?;
        if Some((whole.state, whole.at)) != self.state {
            return Some(Duration::ZERO);
        }
        drop(served);
        let mut pause = Duration::ZERO;
        for (id, sent) in tell(&client, whole, &targets).await {
            let Err(problem) = sent else {
                self.reached.push(id);
                continue;
            };
            let count = self.failed.entry(id.clone()).or_default();
            if let Some(wait) = AGAIN.get(*count) {
                *count += 1;
                pause = pause.max(*wait);
            } else {
                tracing::warn!(problem, "a notification of a task cannot be sent");
                self.reached.push(id);
            }
        }
        Some(pause)
    }
}

/// Tells each of them once, side by side: one that does not answer holds up none of the others. Yields what came of each.
async fn tell(client: &HttpClient, view: View, targets: &[Target]) -> Vec<(String, Result<(), String>)> {
    let body = |version| {
        let shape = Shape(version);
        Bytes::from(shape.wrapped(shape.task(&view, true)).to_string())
    };
    let mut bodies: Vec<(A2aVersion, Bytes)> = Vec::new();
    let mut sending = JoinSet::new();
    for target in targets {
        let known = bodies.iter().find(|(version, _)| *version == target.version);
        let body = match known {
            Some((_, body)) => body.clone(),
            None => {
                let body = body(target.version);
                bodies.push((target.version, body.clone()));
                body
            }
        };
        let (client, target) = (client.clone(), target.clone());
        sending.spawn(async move {
            let sent = target.send(&client, body).await;
            (target.id, sent)
        });
    }
    drop((view, bodies));
    sending.join_all().await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use attache_agent::{Agent, MemoryDocumentStore, MemorySessions, Sessions, tool_fn};
    use attache_core::{BoxFuture, Document, DocumentId, DocumentStore, StoreError, ToolError};
    use attache_testkit::{ScriptedModel, Turn};
    use tokio::sync::mpsc;

    use super::*;
    use crate::server::notify::{A2aTargets, Notifications};
    use crate::server::places::Places;
    use crate::wire::bare_message;

    fn tasks() -> Arc<Tasks> {
        let never = tool_fn("wait", "Never ends", || async {
            std::future::pending::<()>().await;
            Ok::<_, ToolError>("waited")
        });
        let model = ScriptedModel::new([Turn::call("wait", json!({}))]).unverified();
        let agent = Agent::builder(model).tool(never).build().unwrap();
        let mut tasks = Tasks::new(Sessions::new(agent, Arc::new(MemorySessions::default())));
        tasks.notifications = Some(Notifications::new(A2aTargets::Any));
        Arc::new(tasks)
    }

    /// Tasks that are over at once, of which so many are told at once.
    fn answering(places: usize) -> Arc<Tasks> {
        let model = ScriptedModel::new(std::iter::repeat_n(Turn::text("Here."), 40)).unverified();
        let agent = Agent::builder(model).build().unwrap();
        let mut tasks = Tasks::new(Sessions::new(agent, Arc::new(MemorySessions::default())));
        let mut notifications = Notifications::new(A2aTargets::Any);
        notifications.places = Arc::new(Places::new(places));
        tasks.notifications = Some(notifications);
        Arc::new(tasks)
    }

    /// A task of a principal that is over.
    async fn over(tasks: &Arc<Tasks>, principal: &str) -> String {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
        let place = tasks.send(principal, bare_message(&message.to_string()).unwrap()).await.unwrap();
        tasks.stopped(&place).await;
        place.id
    }

    fn notify(tasks: &Arc<Tasks>, principal: &str, task: &str, id: &str, url: &str) {
        tasks.notify(principal, task, &json!({"id": id, "url": url}), A2aVersion::V1).unwrap();
    }

    /// An address that answers so, and what comes there.
    async fn hook(status: u16) -> (String, mpsc::UnboundedReceiver<()>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (sender, told) = mpsc::unbounded_channel();
        let router = axum::Router::new().fallback(async move || {
            sender.send(()).unwrap();
            http::StatusCode::from_u16(status).unwrap()
        });
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (url, told)
    }

    async fn next(told: &mut mpsc::UnboundedReceiver<()>) {
        tokio::time::timeout(Duration::from_secs(10), told.recv()).await.unwrap().unwrap();
    }

    // There is one place, and an address that refuses is told again for 36 s.
    #[tokio::test]
    async fn others_are_told_between_two_attempts() {
        let tasks = answering(1);
        let (refusing, mut refused) = hook(503).await;
        let (url, mut told) = hook(200).await;
        let (anns, bobs) = (over(&tasks, "ann").await, over(&tasks, "bob").await);
        notify(&tasks, "ann", &anns, "one", &refusing);
        next(&mut refused).await;
        notify(&tasks, "bob", &bobs, "one", &url);
        next(&mut told).await;
        next(&mut refused).await;
    }

    // Again after 1, 5 and 30 s; each attempt takes 30 s at most.
    #[tokio::test(start_paused = true)]
    async fn an_address_that_cannot_be_reached_is_given_up() {
        let tasks = answering(1);
        let task = over(&tasks, "ann").await;
        let begun = Instant::now();
        notify(&tasks, "ann", &task, "one", "http://127.0.0.1:1/hook");
        while !tasks.notifications.as_ref().unwrap().targets(&task).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(160));
            sleep(Duration::from_secs(1)).await;
        }
        assert!(begun.elapsed() >= Duration::from_secs(36));
    }

    #[tokio::test]
    async fn addresses_of_two_callers_that_do_not_answer_hold_up_no_other() {
        let tasks = answering(16);
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", silent.local_addr().unwrap());
        for caller in ["ann", "eve"].repeat(16) {
            notify(&tasks, caller, &over(&tasks, caller).await, "one", &url);
        }
        // Each has no more than are free: of 16 places 5 and 5 leave 6, so that one of them takes another.
        let mut asked = Vec::new();
        for _ in 0..11 {
            asked
                .push(tokio::time::timeout(Duration::from_secs(10), silent.accept()).await.unwrap().unwrap());
        }
        let (url, mut told) = hook(200).await;
        let task = over(&tasks, "bob").await;
        notify(&tasks, "bob", &task, "one", &url);
        next(&mut told).await;
    }

    #[tokio::test]
    async fn an_address_that_is_deleted_while_it_waits_for_a_place_is_not_told() {
        let tasks = answering(1);
        let (deleted, mut never) = hook(200).await;
        let (url, mut told) = hook(200).await;
        let task = over(&tasks, "ann").await;
        let places = Arc::clone(&tasks.notifications.as_ref().unwrap().places);
        let full = places.take("bob").await;
        notify(&tasks, "ann", &task, "one", &deleted);
        // The watcher of the task comes to its wait for a place.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let one = json!({"taskId": task, "id": "one"});
        tasks.notifications("ann", Asked::Delete, &one, A2aVersion::V1).await.unwrap();
        notify(&tasks, "ann", &task, "two", &url);
        drop(full);
        next(&mut told).await;
        assert!(never.try_recv().is_err());
    }

    // Dropping the router ends the runs.
    #[tokio::test]
    async fn whoever_watches_a_task_keeps_no_server_alive() {
        let tasks = tasks();
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
        let place = tasks.send("ann", bare_message(&message.to_string()).unwrap()).await.unwrap();
        let config = json!({"url": "http://127.0.0.1:1/hook"});
        tasks.notify("ann", &place.id, &config, A2aVersion::V1).unwrap();
        // The other task of this thread comes to its wait.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let server = Arc::downgrade(&tasks);
        drop(tasks);
        let gone = async {
            while server.strong_count() > 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
    }
    /// A store that counts what is read.
    #[derive(Default)]
    struct Counting(MemoryDocumentStore, AtomicUsize);

    impl DocumentStore for Counting {
        fn id(&self) -> &str {
            self.0.id()
        }

        fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
            self.0.put(document)
        }

        fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.get(id)
        }

        fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
            self.0.delete(id)
        }
    }

    // An answer may hold 32 MiB, and a task is looked at again and again.
    #[tokio::test]
    async fn documents_are_read_only_to_be_sent() {
        let store = Arc::new(Counting::default());
        let lease = tool_fn("lease", "Gives a lease", || Ok::<_, ToolError>(Document::new("the lease")));
        let model = ScriptedModel::new([Turn::call("lease", json!({})), Turn::text("Here.")]).unverified();
        let agent = Agent::builder(model).tool(lease).store(store.clone() as Arc<dyn DocumentStore>);
        let sessions = Sessions::new(agent.build().unwrap(), Arc::new(MemorySessions::default()));
        let mut tasks = Tasks::new(sessions);
        tasks.notifications = Some(Notifications::new(A2aTargets::Any));
        tasks.store = Some(store.clone());
        let tasks = Arc::new(tasks);
        let task = over(&tasks, "ann").await;
        let before = store.1.load(Ordering::Relaxed);
        tasks.view("ann", &task, Wanted::ALL).await.unwrap();
        let of_one = store.1.load(Ordering::Relaxed) - before;
        assert!(of_one > 0);
        let (url, _told) = hook(200).await;
        notify(&tasks, "ann", &task, "one", &url);
        let done = async {
            while !tasks.notifications.as_ref().unwrap().targets(&task).is_empty() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), done).await.unwrap();
        assert_eq!(store.1.load(Ordering::Relaxed) - before, 2 * of_one);
    }

    #[tokio::test]
    async fn an_address_that_does_not_answer_holds_up_no_other() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let notifications = Notifications::new(A2aTargets::Any);
        let targets: Vec<Target> = [&silent, &other]
            .into_iter()
            .map(|listener| {
                let config = json!({"url": format!("http://{}/hook", listener.local_addr().unwrap())});
                notifications.target(&config, A2aVersion::V1).unwrap()
            })
            .collect();
        let tasks = tasks();
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
        let place = tasks.send("ann", bare_message(&message.to_string()).unwrap()).await.unwrap();
        let (_, view) = tasks.view("ann", &place.id, Wanted::ALL).await.unwrap();
        let telling = tell(&notifications.client, view, &targets);
        let asked = tokio::time::timeout(Duration::from_secs(10), other.accept());
        tokio::select! {
            _ = telling => panic!("nobody answers"),
            asked = asked => drop(asked.unwrap().unwrap()),
        }
    }

    #[test]
    fn an_address_that_is_set_while_others_are_told_is_not_forgotten() {
        let notifications = Notifications::new(A2aTargets::Any);
        let target = |id: &str| {
            let config = json!({"id": id, "url": "http://127.0.0.1:1/hook"});
            notifications.target(&config, A2aVersion::V1).unwrap()
        };
        assert!(notifications.keep("ann", "task", target("one")).unwrap());
        let reached = ["one".to_owned()];
        assert!(!notifications.is_done("task", false, &reached), "the task goes on");
        assert!(!notifications.keep("ann", "task", target("two")).unwrap());
        assert!(!notifications.is_done("task", true, &reached));
        assert!(notifications.is_done("task", true, &["one".to_owned(), "two".to_owned()]));
        assert!(notifications.keep("ann", "task", target("three")).unwrap(), "somebody has to watch anew");
        for number in 0..9 {
            notifications.has_room("ann", Some("task"), "new").unwrap();
            notifications.keep("ann", "task", target(&number.to_string())).unwrap();
        }
        assert!(notifications.has_room("ann", Some("task"), "new").is_err());
        assert!(notifications.has_room("ann", Some("task"), "three").is_ok());
        assert!(notifications.has_room("ann", None, "new").is_ok());
    }
}

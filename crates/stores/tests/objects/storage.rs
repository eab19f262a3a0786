//! A storage in memory whose time a test moves, and that fails, waits and hangs when a test says so.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

#[derive(Debug, Default)]
pub(crate) struct Storage {
    objects: Arc<InMemory>,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    begun: SystemTime,
    /// The time that a test has let pass.
    passed: Mutex<Duration>,
    /// When each object was written, in that time.
    written: Mutex<HashMap<Path, Duration>>,
    calls: AtomicU64,
    /// The call from which on all fail, plus one.
    dies_at: AtomicU64,
    hangs: AtomicU64,
    /// The listing of contents, counted down, whose objects go away while it shows them.
    loses: AtomicU64,
    /// The state of random waits; 0 for none.
    random: AtomicU64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            begun: SystemTime::now(),
            passed: Mutex::default(),
            written: Mutex::default(),
            calls: AtomicU64::new(0),
            dies_at: AtomicU64::new(0),
            hangs: AtomicU64::new(0),
            loses: AtomicU64::new(0),
            random: AtomicU64::new(0),
        }
    }
}

impl Storage {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn let_pass(&self, time: Duration) {
        *self.state.passed.lock().unwrap() += time;
    }

    /// Lets each call wait for others as chance has it.
    pub(crate) fn wait_at_random(&self, seed: u64) {
        self.state.random.store(seed | 1, Ordering::SeqCst);
    }

    /// Removes what that listing of contents from now on shows, before whoever listed has read it.
    pub(crate) fn lose_at_listing(&self, listing: u64) {
        self.state.loses.store(listing, Ordering::SeqCst);
    }

    /// Lets all calls fail behind this many.
    pub(crate) fn die_after(&self, calls: u64) {
        self.state.dies_at.store(self.calls() + calls + 1, Ordering::SeqCst);
    }

    pub(crate) fn live(&self) {
        self.state.dies_at.store(0, Ordering::SeqCst);
    }

    /// Lets no call come back.
    pub(crate) fn hang(&self) {
        self.state.hangs.store(1, Ordering::SeqCst);
    }

    pub(crate) fn calls(&self) -> u64 {
        self.state.calls.load(Ordering::SeqCst)
    }

    /// The names of all objects, in order.
    pub(crate) async fn names(&self) -> Vec<String> {
        let objects: Vec<ObjectMeta> = self.objects.list(None).try_collect().await.unwrap();
        let mut names: Vec<String> = objects.into_iter().map(|object| object.location.to_string()).collect();
        names.sort();
        names
    }

    /// The contents, without marks.
    pub(crate) async fn contents(&self) -> Vec<String> {
        let mut names = self.names().await;
        names.retain(|name| name.contains("/contents/") && !name.rsplit('/').next().unwrap().contains('.'));
        names
    }

    pub(crate) async fn links(&self) -> Vec<String> {
        let mut names = self.names().await;
        names.retain(|name| name.contains("/ids/"));
        names
    }

    /// Writes an object behind the store's back.
    pub(crate) async fn write(&self, name: &str, bytes: &'static [u8]) {
        let path = Path::from(name);
        self.objects.put_opts(&path, PutPayload::from_static(bytes), PutOptions::default()).await.unwrap();
    }

    pub(crate) async fn remove(&self, name: &str) {
        let name = Path::from(name);
        self.objects.delete_stream(stream::iter([Ok(name)]).boxed()).try_collect::<Vec<_>>().await.unwrap();
    }
}

impl State {
    async fn enter(&self) -> Result<()> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        self.wait().await;
        if self.hangs.load(Ordering::SeqCst) > 0 {
            std::future::pending::<()>().await;
        }
        let dies_at = self.dies_at.load(Ordering::SeqCst);
        if dies_at > 0 && call >= dies_at {
            return Err(object_store::Error::Generic { store: "test", source: "it is gone".into() });
        }
        Ok(())
    }

    async fn wait(&self) {
        let random = self.random.load(Ordering::SeqCst);
        if random == 0 {
            return;
        }
        // Xorshift, as published by Marsaglia.
        let mut next = random;
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        self.random.store(next, Ordering::SeqCst);
        // Most are short; those that are long let others do much.
        let turns = if (next >> 40).is_multiple_of(8) { 60 } else { (next >> 48) % 4 };
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
    }

    fn dated(&self, mut object: ObjectMeta) -> ObjectMeta {
        let written = self.written.lock().unwrap().get(&object.location).copied().unwrap_or_default();
        let age = *self.passed.lock().unwrap() - written;
        object.last_modified = (self.begun - age).into();
        object
    }
}

#[async_trait]
impl ObjectStore for Storage {
    async fn put_opts(&self, path: &Path, bytes: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.state.enter().await?;
        let done = self.objects.put_opts(path, bytes, options).await;
        let now = *self.state.passed.lock().unwrap();
        self.state.written.lock().unwrap().insert(path.clone(), now);
        self.state.wait().await;
        done
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        panic!("nobody writes in parts")
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.state.enter().await?;
        let mut answer = self.objects.get_opts(path, options).await?;
        answer.meta = self.state.dated(answer.meta);
        self.state.wait().await;
        Ok(answer)
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let (objects, state) = (Arc::clone(&self.objects), Arc::clone(&self.state));
        paths
            .then(move |path| {
                let (objects, state) = (Arc::clone(&objects), Arc::clone(&state));
                async move {
                    state.enter().await?;
                    let mut deleted = objects.delete_stream(stream::iter([path]).boxed());
                    let done = deleted.next().await.unwrap();
                    state.wait().await;
                    done
                }
            })
            .boxed()
    }

    fn list(&self, folder: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (objects, state, folder) = (Arc::clone(&self.objects), Arc::clone(&self.state), folder.cloned());
        stream::once(async move {
            state.enter().await?;
            let listed: Vec<ObjectMeta> = objects.list(folder.as_ref()).try_collect().await?;
            let is_of_contents = folder.as_ref().is_some_and(|folder| folder.as_ref().contains("/contents"));
            let left = state.loses.load(Ordering::SeqCst);
            if is_of_contents && left > 0 {
                state.loses.store(left - 1, Ordering::SeqCst);
                if left == 1 {
                    let names: Vec<_> = listed.iter().map(|object| Ok(object.location.clone())).collect();
                    objects.delete_stream(stream::iter(names).boxed()).try_collect::<Vec<_>>().await?;
                }
            }
            let listed: Vec<Result<ObjectMeta>> =
                listed.into_iter().map(|object| Ok(state.dated(object))).collect();
            state.wait().await;
            Ok::<_, object_store::Error>(stream::iter(listed))
        })
        .try_flatten()
        .boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        panic!("nobody lists folders")
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        panic!("nobody copies")
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Storage")
    }
}

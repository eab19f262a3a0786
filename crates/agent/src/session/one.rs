//! One session.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_core::{Message, StoreErrorKind};

use super::error::{SessionError, without_nul};
use super::id::SessionId;
use super::journal::{SessionJournal, whole};
use super::records::{Fork, RunInfo, SessionInfo, SessionState, StopRequest};
use super::settings::Settings;
use super::title::short;
use super::turn::turn;
use crate::driver::{AgentRun, Task};
use crate::input::{RunInput, is_read};
use crate::journal::{Journal, JournalError, Origin, Place};
use crate::log::Entry;
use crate::options::RunOptions;
use crate::outcome::Outcome;
use crate::run::Run;
use crate::tool_time::Pace;

/// A conversation of one principal. Cloning shares it.
#[derive(Clone)]
pub struct Session {
    pub(super) settings: Settings,
    pub(super) id: SessionId,
    pub(super) principal: Arc<str>,
    pub(super) state: SessionState,
}

impl Session {
    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// On whose behalf its runs work.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Says whether it was there when it was opened.
    pub fn state(&self) -> SessionState {
        self.state
    }

    /// A run that goes on with the conversation. It is lazy: polled for the first time it takes the session, which it
    /// has until it ends or is dropped. The history, the principal and the grants come from the session; a history of the
    /// input is left out.
    ///
    /// If another run is under way, it fails, see [`RunError::session_error`](crate::RunError::session_error), or
    /// [waits](crate::Sessions::with_busy). A run that did not come to its end, because it failed or its process died, is
    /// closed: the model reads what there was of it, and what was [said](crate::say) to it meanwhile. One whose calls wait
    /// for approval refuses the next, see [`RunInput::with_leaves_approvals`], until the time of the approvals is up.
    ///
    /// Memory decides again in each run: what earlier runs decided about the conversation stands in its history.
    pub fn run(&self, input: impl Into<RunInput>) -> AgentRun {
        let mut input = input.into();
        self.own(&mut input.options);
        self.driven(Task::Start(Box::new(input)))
    }

    /// Goes on with the last run, from where it stopped; one that has ended is told again. See
    /// [`Agent::resume`](crate::Agent::resume).
    pub fn resume(&self) -> AgentRun {
        self.resume_with(RunOptions::default())
    }

    /// [Resumes](Self::resume) a run whose tools, model, settings or values are other than the agent's, as `options` say: no
    /// log keeps them.
    pub fn resume_with(&self, mut options: RunOptions) -> AgentRun {
        self.own(&mut options);
        self.driven(Task::Resume(options))
    }

    fn own(&self, options: &mut RunOptions) {
        let agent = self.settings.agent.setup();
        options.principal =
            (agent.principal.as_deref() != Some(&*self.principal)).then(|| self.principal.to_string());
        // Tools and those who look on find it.
        options.extensions.insert(self.id.clone());
    }

    fn driven(&self, task: Task) -> AgentRun {
        let journal = Arc::new(self.log());
        let origin = Origin::Place(Place::of(Arc::clone(&journal) as Arc<dyn Journal>));
        let control = AgentRun::control_of(self.settings.agent.setup(), &origin, &task);
        let pace = Pace::default();
        let stream = turn(
            self.settings.clone(),
            self.id.clone(),
            Arc::clone(&self.principal),
            journal,
            task,
            control.clone(),
            pace.clone(),
        );
        AgentRun::over(Box::pin(stream), control, pace)
    }

    fn log(&self) -> SessionJournal {
        SessionJournal::new(&self.settings, self.id.clone(), Arc::clone(&self.principal))
    }

    /// The conversation so far, synthetic messages included: what a run that begins now goes on from.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] if the session was cleared, [`SessionError::Journal`] if its log cannot be read.
    pub async fn history(&self) -> Result<Vec<Arc<Message>>, SessionError> {
        Ok(self.last().await?.map(|outcome| outcome.messages).unwrap_or_default())
    }

    /// The outcome of the last run, or what there is of it: also the approvals and results for which it waits.
    ///
    /// # Errors
    /// See [`history`](Self::history).
    pub async fn last(&self) -> Result<Option<Outcome>, SessionError> {
        self.touch().await?;
        let Some(stored) = self.settings.store.load(&self.principal, &self.id, None).await? else {
            return Ok(None);
        };
        let (entries, _) = whole(stored)?;
        Ok(Some(Run::replay(&entries)?.outcome()))
    }

    /// The runs in the order in which they began.
    ///
    /// # Errors
    /// See [`history`](Self::history).
    pub async fn runs(&self) -> Result<Vec<RunInfo>, SessionError> {
        self.touch().await?;
        Ok(self.settings.store.runs(&self.principal, &self.id).await?)
    }

    /// The session as it stands in the [list](crate::Sessions::list): its title, its times, and the run that is open.
    ///
    /// # Errors
    /// See [`history`](Self::history).
    pub async fn info(&self) -> Result<SessionInfo, SessionError> {
        self.touch().await?;
        self.settings.store.info(&self.principal, &self.id).await?.ok_or(SessionError::NotFound)
    }

    /// Gives the session another title, of which 80 characters are kept. Without one it gets the first words of its next
    /// question.
    ///
    /// # Errors
    /// See [`history`](Self::history).
    pub async fn rename(&self, title: &str) -> Result<(), SessionError> {
        self.touch().await?;
        let title = short(std::iter::once(title));
        match self.settings.store.rename(&self.principal, &self.id, &title).await? {
            true => Ok(()),
            false => Err(SessionError::NotFound),
        }
    }

    /// A new session of the same principal that goes on from that run as if nothing had come behind it. It has the run's
    /// log and the conversation up to its end, and shares the documents; what either session does from then on is its own.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] if there is no such run, [`SessionError::Busy`] if it has not ended, and see
    /// [`history`](Self::history).
    pub async fn fork(&self, run: &str) -> Result<Self, SessionError> {
        self.touch().await?;
        let run = without_nul(run, "the id of a run")?;
        let stored = self.settings.store.load(&self.principal, &self.id, Some(run)).await?;
        let (entries, _) = whole(stored.ok_or(SessionError::NotFound)?)?;
        let messages = Run::replay(&entries)?.outcome().messages;
        let is_question =
            |message: &&Arc<Message>| matches!(***message, Message::User(_)) && is_read(message);
        self.forked(Some(run), messages.iter().filter(is_question).count()).await
    }

    /// A new session of the same principal that is empty, to say something else in the place of the first question.
    ///
    /// # Errors
    /// See [`history`](Self::history).
    pub async fn fork_empty(&self) -> Result<Self, SessionError> {
        self.touch().await?;
        self.forked(None, 0).await
    }

    async fn forked(&self, run: Option<&str>, questions: usize) -> Result<Self, SessionError> {
        let (id, now) = (SessionId::fresh(), self.settings.clock.now());
        let questions = u64::try_from(questions).unwrap_or(u64::MAX);
        let fork = Fork { principal: &self.principal, session: &self.id, run, questions, id: &id, now };
        let gone = self.settings.store.fork(fork).await?;
        self.settings.left(&id, &gone).await;
        Ok(Self { id, state: SessionState::New, ..self.clone() })
    }

    /// The journal of the last run, for whoever [decides](crate::decide) about its calls or [delivers](crate::deliver)
    /// their results, in any process. It is not for a driver: [`resume`](Self::resume) goes on with the run.
    ///
    /// # Errors
    /// See [`history`](Self::history).
    pub async fn journal(&self) -> Result<Option<Arc<dyn Journal>>, SessionError> {
        let runs = self.runs().await?;
        Ok(runs.last().map(|run| self.journal_of(&run.id)))
    }

    /// The journal of that run.
    pub fn journal_of(&self, run: &str) -> Arc<dyn Journal> {
        Arc::new(self.log().of_run(run))
    }

    /// The entries of a run's log behind the first `seen` ones, for somebody who follows a run that another process drives.
    /// See [`LogEvents`](crate::LogEvents). It does not count as use of the session.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] if the session was cleared, [`SessionError::Journal`] if its log cannot be read.
    pub async fn behind(&self, run: &str, seen: usize) -> Result<Vec<Entry>, SessionError> {
        let (store, run) = (&self.settings.store, without_nul(run, "the id of a run")?);
        if seen == 0 {
            // The beginning has the messages of the session.
            let stored = store.load(&self.principal, &self.id, Some(run)).await?;
            return Ok(whole(stored.ok_or(SessionError::NotFound)?)?.0);
        }
        match store.behind(&self.principal, &self.id, run, seen).await {
            Err(JournalError::Store(error)) if error.kind() == StoreErrorKind::NotFound => {
                Err(SessionError::NotFound)
            }
            entries => Ok(entries?),
        }
    }

    /// For how long nobody has driven a run of the session; `None` while somebody does, in whichever process. The end of the
    /// lease tells it; one that was let go does not, and is zero. It does not count as use of the session.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] if the session was cleared, [`SessionError::Journal`] if the store fails.
    pub async fn undriven_for(&self) -> Result<Option<Duration>, SessionError> {
        let info = self.settings.store.info(&self.principal, &self.id).await?;
        let (end, now) = (info.ok_or(SessionError::NotFound)?.leased_until, self.settings.clock.now());
        Ok((end <= now).then(|| Duration::from_millis(if end > 1 { now - end } else { 0 })))
    }

    /// Ends a run as [`Control::cancel_because`](crate::Control::cancel_because) does, whichever process drives it: that
    /// one looks about twice a second. A run that nobody drives ends when it is resumed, before anything else happens.
    /// False if there is no such run, or it has ended.
    ///
    /// # Errors
    /// [`SessionError::Journal`] if the store fails.
    pub async fn stop(&self, run: &str, why: &str) -> Result<bool, SessionError> {
        let stop = StopRequest {
            principal: self.principal.to_string(),
            session: self.id.clone(),
            run: without_nul(run, "the id of a run")?.to_owned(),
            why: why.to_owned(),
        };
        let asked = self.settings.store.stop(&stop).await?;
        if asked {
            // One of this process need not wait for a look.
            self.settings.live.stop(std::slice::from_ref(&stop));
        }
        Ok(asked)
    }

    /// Lets the lease go that a run left which was dropped here, so that other processes need not wait for its end. With
    /// `adoptable` they [take the run over](crate::Sessions::adopt).
    ///
    /// # Errors
    /// [`SessionError::Journal`] if the store fails.
    pub async fn let_go(&self, adoptable: bool) -> Result<(), SessionError> {
        Ok(self.settings.store.let_go(&self.id, adoptable).await?)
    }

    async fn touch(&self) -> Result<(), SessionError> {
        self.settings.touch(&self.principal, &self.id, false).await.map(drop)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id)
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

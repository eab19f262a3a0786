//! `attache chat`: a conversation that goes on.

mod command;
mod dropped;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use attache_agent::{Agent, Outcome, RunInput, Session, Sessions};
use attache_core::message::UserOrigin;
use attache_core::{Document, Message, Usage, UserMessage, UserPart};
use attache_models::Registry;
use attache_tools::Folders;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::args::{self, Choice};
use crate::ask::build::{Wanted, build, folders};
use crate::ask::{Attachments, exported, follow, writable};
use crate::config_files::Config;
use crate::config_tools::Outside;
use crate::exit::Exit;
use crate::model_by_name::{self, SetupError};
use crate::output::{answer, fail, harmless, line, page, short, written};
use crate::prompt::approve::answered;
use crate::prompt::reader::{Line, Reader};
use crate::sessions::{self, Stores};
use crate::show::number::grouped;
use crate::show::style::{Style, When};
use crate::show::table::named;
use crate::show::terminal::Terminal;
use crate::show::watch::{Notice, Watch, Watched, beside, tell_left};
use crate::show::width::terminal_width;
use command::Command;

/// Runs the command.
pub(crate) async fn run(
    chat: args::Chat,
    registry: &Registry,
    config: &Config,
    color: When,
    (watch, mut notices): Watched,
) -> Exit {
    let is_quiet = chat.talk.shown.quiet;
    let begun = begin(chat.talk, (&chat.session, false), registry, config, color, watch, &mut notices).await;
    let talked = match begun {
        Ok(mut chat) => chat.talk(Exit::Done).await,
        Err(error) => Err(error),
    };
    done(talked, &mut notices, is_quiet)
}

/// Goes on with a session, and with its last run if that did not come to its end.
pub(crate) async fn resume(
    resume: args::Resume,
    registry: &Registry,
    config: &Config,
    color: When,
    (watch, mut notices): Watched,
) -> Exit {
    let choice = Choice { last: resume.id.is_none(), session: resume.id };
    let is_quiet = resume.talk.shown.quiet;
    let begun = begin(resume.talk, (&choice, true), registry, config, color, watch, &mut notices).await;
    let talked = match begun {
        Ok(mut chat) => match chat.go_on().await {
            Ok(exit) => chat.talk(exit.unwrap_or(Exit::Done)).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    done(talked, &mut notices, is_quiet)
}

fn done(talked: Result<Exit, SetupError>, notices: &mut UnboundedReceiver<Notice>, is_quiet: bool) -> Exit {
    talked.unwrap_or_else(|error| {
        // They may say why.
        tell_left(notices, false, is_quiet);
        fail(&error.to_string());
        Exit::Setup
    })
}

struct Chat<'c> {
    arguments: args::Talk,
    registry: Registry,
    config: &'c Config,
    outside: Outside,
    style: Style,
    color: When,
    folders: Option<Arc<Folders>>,
    stores: Stores,
    agent: Agent,
    sessions: Sessions,
    session: Session,
    /// Documents for the next question.
    attached: Vec<Document>,
    /// The messages before the next question, where they are not those of the session.
    before: Vec<Arc<Message>>,
    spent: Usage,
    money: f64,
    /// True if the last run of the session may wait for the user.
    may_be_open: bool,
    /// True if a question was asked in the session.
    has_asked: bool,
    /// False if something was spent that has no price.
    has_all_prices: bool,
    terminal: Terminal,
    notices: &'c mut UnboundedReceiver<Notice>,
    reader: Reader,
}

async fn begin<'c>(
    arguments: args::Talk,
    (choice, must_exist): (&Choice, bool),
    registry: &Registry,
    config: &'c Config,
    color: When,
    watch: Watch,
    notices: &'c mut UnboundedReceiver<Notice>,
) -> Result<Chat<'c>, SetupError> {
    if let Some(notice) = config.notice().filter(|_| !arguments.shown.quiet) {
        line(&notice);
    }
    let name = model_by_name::chosen(registry, arguments.model.name.as_deref()).to_owned();
    let registry = model_by_name::at(
        &model_by_name::watched(registry, watch, None),
        arguments.model.base_url.as_deref(),
    );
    let stores = beside(Box::pin(Stores::open(config)), notices, false, arguments.shown.quiet).await?;
    let folders = folders(&arguments.opened, config, true).await?;
    let outside = Outside::connected(config, arguments.shown.quiet).await.told();
    let agent = agent(&name, &arguments, &folders, &registry, config, &stores, &outside)?;
    let sessions = stores.sessions(agent.clone());
    let session = match must_exist {
        true => sessions::existing(&sessions, choice).await?,
        false => sessions::chosen(&sessions, choice).await?,
    };
    let terminal = Terminal::new(arguments.shown, color, config.prices.as_ref()).in_chat();
    let style = Style::of_stderr(color);
    let reader = Reader::new(style).map_err(SetupError::new)?;
    let reader = reader.with_history(stores.folder().join("history.txt"), command::completed);
    Ok(Chat {
        arguments,
        registry,
        config,
        outside,
        style,
        color,
        folders,
        stores,
        agent,
        sessions,
        session,
        attached: Vec::new(),
        before: Vec::new(),
        spent: Usage::default(),
        money: 0.0,
        may_be_open: true,
        has_asked: false,
        has_all_prices: true,
        terminal,
        notices,
        reader,
    })
}

fn agent(
    name: &str,
    arguments: &args::Talk,
    folders: &Option<Arc<Folders>>,
    registry: &Registry,
    config: &Config,
    stores: &Stores,
    outside: &Outside,
) -> Result<Agent, SetupError> {
    let mut wanted = Wanted::new(name, &arguments.model, config);
    (wanted.fetches, wanted.documents) = (true, Some(stores.documents()));
    // The offline model asks nobody anything.
    (wanted.outside, wanted.permitted) = (outside.clone(), arguments.permitted.clone());
    wanted.asks_user = name != model_by_name::OFFLINE;
    build(&wanted, folders, registry)
}

impl Chat<'_> {
    fn is_new(&self) -> bool {
        self.session.state() == attache_agent::SessionState::New
    }

    /// Reads and answers until the user leaves. `exit` is the end of the answer before.
    async fn talk(&mut self, mut exit: Exit) -> Result<Exit, SetupError> {
        self.welcome().await?;
        let mut is_readable = true;
        loop {
            let said = match self.reader.read("› ", "", true).await {
                Line::Said(said) => said,
                Line::Interrupted => {
                    self.note("· Ctrl-D or /quit leaves");
                    continue;
                }
                Line::End => break,
                Line::Failed(problem) => {
                    fail(&format!("stdin cannot be read: {problem}"));
                    (exit, is_readable) = (Exit::Failed, false);
                    break;
                }
            };
            if said.trim().is_empty() {
                continue;
            }
            match Command::parse(&said) {
                Some(Ok(Command::Quit)) => break,
                Some(Ok(command)) => {
                    if let Err(error) = self.obey(command).await {
                        fail(&error.to_string());
                    }
                }
                Some(Err(problem)) => line(&self.style.bad(problem)),
                None => match dropped::only_files(&said) {
                    Some(files) => {
                        for file in files {
                            self.attach(&file.to_string_lossy()).await;
                        }
                    }
                    None => exit = self.ask(&said).await,
                },
            }
        }
        if self.has_asked || !self.is_new() {
            self.note(&format!("· `attache chat -c` continues this session, {}", self.session.id()));
        }
        // Somebody at a terminal has seen how each question ended.
        Ok(if is_readable && std::io::stdin().is_terminal() { Exit::Done } else { exit })
    }

    async fn welcome(&mut self) -> Result<(), SetupError> {
        if let Some(notice) = model_by_name::notice(self.agent.model().id()) {
            self.note(&notice);
        }
        if self.is_new() {
            self.note("· a new session; /help says what there is");
            return Ok(());
        }
        let said = sessions::said(&self.history().await?);
        self.note(&format!("· continuing {}", self.session.id()));
        let last = said.get(said.len().saturating_sub(2)..).unwrap_or_default();
        // Nobody reads where it cannot be written.
        let _unwritten = answer(&sessions::shown(last, Style::of_stdout(self.color)));
        Ok(())
    }

    fn note(&self, text: &str) {
        if !self.arguments.shown.quiet {
            line(&self.style.dim(harmless(text)));
        }
    }

    async fn history(&self) -> Result<Vec<Arc<Message>>, SetupError> {
        if !self.before.is_empty() {
            return Ok(self.before.clone());
        }
        self.session.history().await.map_err(|error| sessions::failed(&error))
    }

    /// Asks the model, once nothing of the session's last run is open.
    async fn ask(&mut self, question: &str) -> Exit {
        if std::mem::take(&mut self.may_be_open) {
            if let Err(error) = self.go_on().await {
                fail(&error.to_string());
                self.may_be_open = true;
            }
            if self.may_be_open {
                fail("your question was not sent; press the arrow key to get it back");
                return Exit::Incomplete;
            }
        }
        self.has_asked = true;
        let documents =
            std::mem::take(&mut self.attached).into_iter().map(|document| Some(UserPart::Document(document)));
        let question = UserMessage::new([UserPart::text(question)].into_iter().chain(documents));
        let question = Message::User(question).shared();
        let before = std::mem::take(&mut self.before);
        let input = RunInput::new(before.into_iter().chain([question]));
        self.follow(self.session.run(input)).await
    }

    /// Goes on with the last run of the session, if it did not come to its end, and yields how that ended.
    async fn go_on(&mut self) -> Result<Option<Exit>, SetupError> {
        let runs = self.session.runs().await.map_err(|error| sessions::failed(&error))?;
        let last = self.session.last().await.map_err(|error| sessions::failed(&error))?;
        let waits = last.is_some_and(|last| !last.pending.is_empty());
        if !waits && runs.last().is_none_or(|run| run.ended.is_some()) {
            return Ok(None);
        }
        self.note("· the last answer was not finished; going on with it");
        Ok(Some(self.follow(self.session.resume()).await))
    }

    /// Shows a run, and asks the user what it asks, until it ends.
    async fn follow(&mut self, mut run: attache_agent::AgentRun) -> Exit {
        loop {
            self.terminal.begin();
            let followed = follow(run, &mut self.terminal, self.notices, false).await;
            let outcome = match &followed.result {
                Some(Ok(outcome)) => outcome,
                Some(Err(error)) => {
                    self.spend(error.partial());
                    return followed.exit;
                }
                None => return followed.exit,
            };
            if outcome.approvals.is_empty() && outcome.deferred.is_empty() {
                // The end of a run that waited counts what it used before, too.
                self.spend(outcome);
                return followed.exit;
            }
            run = self.session.resume();
            let Some(next) = answered(outcome, run, &self.reader, self.style).await else {
                self.note(
                    "· left open: you are asked again before the next question, and by `attache resume`",
                );
                self.may_be_open = true;
                return Exit::Incomplete;
            };
            run = next;
        }
    }

    fn spend(&mut self, outcome: &Outcome) {
        self.spent.add(&outcome.usage);
        self.money += outcome.cost.known.units();
        self.has_all_prices &= outcome.cost.is_complete();
    }

    async fn attach(&mut self, name: &str) {
        let named = [name.to_owned()];
        match Attachments::read(&named, self.arguments.opened.max_file_bytes).await {
            Ok(read) => {
                for document in read.documents() {
                    self.note(&format!("· attached {}", sessions::name(document)));
                    self.attached.push(document.clone());
                }
            }
            Err(error) => fail(&error.to_string()),
        }
    }

    async fn obey(&mut self, command: Command) -> Result<(), SetupError> {
        match command {
            Command::Help => print(&command::help(terminal_width())),
            Command::Attach(name) => self.attach(&name).await,
            Command::Model(None) => print(&format!("{}\n", self.agent.model().id())),
            Command::Model(Some(name)) => self.change_model(&name).await?,
            Command::Tools => {
                let manager = self.agent.tool_manager().await;
                let tools = manager.map_err(|error| SetupError::new(error.to_string()))?.tools();
                let tools: Vec<(String, String)> = tools
                    .iter()
                    .map(|(_, tool)| (harmless(tool.name()), short(tool.description(), 100)))
                    .collect();
                print(&named(&tools, terminal_width()));
            }
            Command::History => {
                let said = sessions::said(&self.history().await?);
                // It is set already, code in lines of its own length.
                let _told = written(answer(&sessions::shown(&said, Style::of_stdout(self.color))));
            }
            Command::Save(file) => {
                writable(Path::new(&file)).map_err(SetupError::new)?;
                let text = exported(&self.history().await?, &self.agent).await;
                let text = text.map_err(SetupError::new)?;
                let saved = tokio::fs::write(Path::new(&file), text).await;
                saved.map_err(|error| SetupError::new(format!("{file}: {error}")))?;
                self.note(&format!("· saved to {file}"));
            }
            Command::New => {
                self.session = sessions::opened(&self.sessions, None).await?;
                self.before.clear();
                (self.may_be_open, self.has_asked) = (false, false);
                self.note("· a new session");
            }
            Command::Sessions => {
                let all = sessions::all(&self.sessions).await?;
                print(&sessions::table(&all).render(terminal_width()));
            }
            Command::Undo => self.undo().await?,
            Command::Cost => {
                let count = |tokens: Option<u64>| grouped(tokens.unwrap_or(0));
                let (input, output) = (count(self.spent.input_tokens), count(self.spent.output_tokens));
                let money = match &self.config.prices {
                    Some(prices) => {
                        let about = if self.has_all_prices { "" } else { "at least " };
                        format!(", {about}{} {:.4}", prices.currency(), self.money)
                    }
                    None => ", and no [prices] to count money by".to_owned(),
                };
                print(&format!("{input} tokens in, {output} out{money}\n"));
            }
            Command::Quit => {}
        }
        Ok(())
    }

    async fn change_model(&mut self, name: &str) -> Result<(), SetupError> {
        let (folders, registry) = (&self.folders, &self.registry);
        let agent =
            agent(name, &self.arguments, folders, registry, self.config, &self.stores, &self.outside)?;
        self.sessions = self.sessions.with_agent(agent.clone());
        self.agent = agent;
        self.session = sessions::opened(&self.sessions, Some(self.session.id().as_str())).await?;
        self.note(&format!("· {} answers from now on", self.agent.model().id()));
        Ok(())
    }

    /// Takes the last question back: the next one begins a session of its own, with what was said before.
    async fn undo(&mut self) -> Result<(), SetupError> {
        let mut history = self.history().await?;
        let is_question = |message: &Arc<Message>| matches!(&**message, Message::User(user) if user.origin == UserOrigin::Author);
        let Some(last) = history.iter().rposition(is_question) else {
            self.note("· there is nothing to take back");
            return Ok(());
        };
        history.truncate(last);
        history.retain(|message| !matches!(&**message, Message::System(_)));
        self.session = sessions::opened(&self.sessions, None).await?;
        (self.before, self.may_be_open, self.has_asked) = (history, false, false);
        self.note("· taken back; the next question goes on from there, in a session of its own");
        Ok(())
    }
}

/// Prints what a command says.
fn print(text: &str) {
    let _told = written(page(text));
}

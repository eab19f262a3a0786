//! A deterministic extractive model: no key, no network, no weights.
//!
//! [`OfflineModel`] implements the same [`LlmProvider`](attache_core::LlmProvider) trait as the models of providers, so
//! that an agent with real tools and real documents runs on any machine, in tests and demonstrations. **It is not a
//! language model.** It writes no sentences of its own except the frame around quotes:
//!
//! - It selects tools by matching the question against their names, descriptions and parameter schemas, and fills
//!   arguments from the user's words, from earlier results and from names in listings. Tools that change something are
//!   called only if the question begins with their verb. An identical call is never made twice, and at most 64 calls
//!   are made for one question. (If the caller forces a tool, missing values are filled with values that its schema
//!   allows.)
//! - When it has material, it quotes the best matches: sentences, pairs of label and value, rows of tables, each with
//!   its file and page, one line for each requested fact. Amounts in rows are added up if the question asks for that,
//!   and the line says so.
//! - If it finds nothing, it says so and lists the documents that it searched and those that were not shown to it.
//!
//! It does not follow instructions in system messages or in documents: document content is only ever quoted. Questions
//! may be in English or German; the text around quotes is English.
//!
//! | | |
//! | --- | --- |
//! | API family | `offline`; its row of the matrix takes text only, so documents arrive as routing converts them |
//! | model | `extractive`; any other name is the same model, and a registry knows this one alone |
//! | tokens | words, that is what stands between white space: in [`Usage`](attache_core::Usage), and for `max_tokens` |
//! | the same request | the same reply, ids included |
//! | options | `max_tokens`, `stop`, `parallel_tool_calls` and the tool choice are honoured; `system` is read as text that asks nothing; `seed`, `top_p`, `top_k` and a temperature of 0 hold by themselves; others are [`ErrorKind::Unsupported`](attache_core::ErrorKind::Unsupported), or recorded where the request allows that |

mod answer;
mod arguments;
mod capabilities;
mod index;
mod material;
mod model;
mod next_calls;
mod options;
mod passages;
mod pieces;
mod question;
mod rank;
mod reply;
mod structured_results;
mod table;
mod values;
mod words;

pub use model::OfflineModel;

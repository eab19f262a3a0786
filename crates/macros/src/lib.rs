//! `#[tool]` makes a tool of a function, `#[toolbox]` makes tools of methods.
//!
//! Users of the `attache` crate find both there; this crate is for those who build on `attache-core` alone.
//!
//! ```
//! use attache_core::{Arguments, Document, Tool, ToolContext};
//! use attache_macros::tool;
//!
//! #[derive(serde::Serialize)]
//! struct Invoice { total: String, pdf: Document }
//!
//! /// Finds an invoice by its number.
//! #[tool(effect = "read", timeout = "10s")]
//! async fn find_invoice(
//!     /// As printed on the invoice.
//!     number: String,
//!     #[arg(description = "the year of issue")] year: Option<u16>,
//! ) -> Result<Invoice, std::io::Error> {
//!     let pdf = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").with_file_name(format!("{number}.pdf"));
//!     Ok(Invoice { total: format!("EUR {}", year.unwrap_or(2026)), pdf })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), attache_core::ToolError> {
//! let tool = find_invoice_tool(); // what an agent is given: Agent::builder().tool(find_invoice_tool())
//! assert_eq!(tool.spec().definition.description(), "Finds an invoice by its number.");
//! let output = tool.call(&Arguments::new(r#"{"number": "R-17"}"#), ToolContext::new()).await?;
//! assert_eq!(output.documents[0].file_name(), Some("R-17.pdf"));
//! # Ok(()) }
//! ```

mod analyse;
mod expand;
mod function;
mod options;
mod plain;
mod text;
mod toolbox;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;
use quote::quote;
use syn::{Path, parse_quote};

/// Makes a tool of a function.
///
/// The function stays as it is. Beside it, with its visibility, stands `fn NAME_tool() -> impl Tool`, whose value an
/// agent takes. (A method becomes a tool by [`macro@toolbox`] on its impl block.)
///
/// # The function
/// It is sync or async. Each parameter is one property of the input schema; its type is owned and implements
/// `serde::Deserialize` and `schemars::JsonSchema`, in which doc comments describe the fields. (Whoever does not depend
/// on schemars derives it with `#[schemars(crate = "attache_core::schemars")]`.) A parameter that serde makes of
/// nothing, an `Option`, need not be given. A `ToolContext` or `&ToolContext` is passed the call's context and is not
/// in the schema. It returns anything that serde can serialise, with documents anywhere in it, or a `Result` of that,
/// by whatever name, with an error that converts into `ToolError`.
///
/// An application can change what the attribute states: `find_tool().with_metadata(…)`, `with_spec`, `with_outcome`.
/// With the feature `discovery` of `attache-core` it finds the tool without being given it: `Discovery`.
///
/// # Options
/// | `#[tool(…)]` | meaning |
/// | --- | --- |
/// | `name = "calculator.add"` | the internal name; the function's by default |
/// | `description = "…"` | what the model reads; the doc comment by default; `""` says that none is meant |
/// | `effect = "read"` | `read`, `idempotent` or `effect`, the default |
/// | `timeout = "30s"` | `ms`, `s`, `m` or `h`; the agent's default where none is set |
/// | `approval` | each call waits until somebody approves it |
/// | `return_direct` | its output is the answer |
/// | `blocking` | it blocks its thread |
/// | `sequential` | nothing runs beside it |
/// | `poll` | it is there to be asked again and again: equal results are no lack of progress |
/// | `finish` | its success ends the run; it stays available at a limit, when other tools are off |
/// | `max_calls = 3` | the most calls in one run; the run's limit where none is set |
/// | `enabled = false` | the model is not offered it |
/// | `strict` | APIs hold the model to the schema where they can, and arguments are taken as they are: `"5"` is no 5, one value is no array of one |
/// | `produces = "application/pdf, image/*"` | the media types of the documents that it returns, held against the model before a run |
/// | `always_visible` | the model reads all of it from the start, however many tools there are |
/// | `tags = "money, tax"` | words by which it is found among many tools |
/// | `returns = "…"`, `returns_example = …` | what a call returns, for a model that asks for the details |
/// | `crate = "…"` | the path of `attache_core`, where it has another name |
///
/// | `#[arg(…)]` on a parameter | meaning |
/// | --- | --- |
/// | `description = "…"` | what the model reads; a doc comment on the parameter does the same |
/// | `rename = "…"` | its name in the schema |
/// | `example = …` | an example in the schema; if every required argument has one, so has the tool |
/// | `default`, `default = …` | its value when it is left out: the type's default, or an expression |
/// | `required` | it must be given, although its type is optional |
/// | `flat` | the fields of its struct are arguments of their own; a tool whose type has no named fields, or has one that another argument has, is refused when tools are gathered |
///
/// # Arguments that do not fit
/// The function is not called. The model reads which tool, every path that does not fit and what was expected there,
/// and which arguments exist. Unknown ones are ignored.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(function::expand, parse_quote!(::attache_core), options, item)
}

/// Makes tools of the methods of an impl block that are marked `#[tool]`.
///
/// The block stays as it is. The type gets two methods: `into_tools(self)` and, for those who keep a handle,
/// `tools(self: &Arc<Self>)`, which yield `Vec<Arc<dyn Tool>>`. The tools share one value in an `Arc`, so the type is
/// `Send + Sync + 'static`; a method takes `&self`, `self: Arc<Self>`, `self: &Arc<Self>` or no receiver, and is of
/// any visibility. `#[tool(…)]` knows the options of [`macro@tool`], except `crate`, which is an option of the
/// toolbox.
///
/// ```
/// use attache_macros::toolbox;
///
/// struct Files { names: Vec<String> }
///
/// #[toolbox]
/// impl Files {
///     /// Lists the files.
///     #[tool(name = "files.list", effect = "read")]
///     async fn list(&self, #[arg(default = 100)] limit: usize) -> Vec<String> {
///         self.names.iter().take(limit).cloned().collect()
///     }
/// }
///
/// let tools = Files { names: vec!["a.pdf".into()] }.into_tools();
/// assert_eq!(tools[0].spec().definition.name(), "files.list");
/// ```
#[proc_macro_attribute]
pub fn toolbox(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(toolbox::expand, parse_quote!(::attache_core), options, item)
}

/// [`macro@tool`] for the `attache` crate, which re-exports it under that name: the generated code finds the core at
/// `::attache::core`.
#[proc_macro_attribute]
pub fn facade_tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(function::expand, parse_quote!(::attache::core), options, item)
}

/// [`macro@toolbox`] for the `attache` crate, which re-exports it under that name.
#[proc_macro_attribute]
pub fn facade_toolbox(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(toolbox::expand, parse_quote!(::attache::core), options, item)
}

type Expand = fn(Path, TokenStream2, TokenStream2) -> syn::Result<TokenStream2>;

/// The item as `expand` makes it. If that fails: the error and the item without the attributes that only we
/// understand, so that no errors follow from the first.
fn expanded(expand: Expand, krate: Path, options: TokenStream, item: TokenStream) -> TokenStream {
    let item = TokenStream2::from(item);
    let tokens = expand(krate, options.into(), item.clone()).unwrap_or_else(|error| {
        let (error, item) = (error.into_compile_error(), plain::item(item));
        quote!(#error #item)
    });
    tokens.into()
}

//! Tools of all crates that a program links, found without a list.

use attache_core::{Arguments, Discovery, Tool, ToolContext};
use attache_linked_orders::{Ledger, Till};
use attache_linked_stock as _;
use attache_macros::{tool, toolbox};

/// Says hello.
#[tool(name = "hello", effect = "read")]
fn hello() -> &'static str {
    "hello"
}

/// Greets.
#[derive(Debug, Default)]
struct Greeter;

#[toolbox]
impl Greeter {
    /// Says goodbye.
    #[tool(name = "goodbye", effect = "read")]
    fn goodbye(&self) -> &'static str {
        "goodbye"
    }
}

fn names(discovery: &Discovery) -> Vec<String> {
    discovery.tools().iter().map(|tool| tool.spec().definition.name().to_owned()).collect()
}

// A09, S26 (in the crates stage of CI built with the profile `whole`, too): also of functions that nobody names, in the order of their places in the code
#[tokio::test]
async fn discovered_tools_are_those_of_all_linked_crates() {
    let everything = Discovery::new();
    let expected =
        ["ledger.total", "orders.open", "orders.late", "orders.opened", "stock.count", "goodbye", "hello"];
    assert_eq!(names(&everything), expected);
    assert_eq!(everything.left_out(), ["attache_linked_orders::Till"]);
    let last = everything.tools().pop().unwrap();
    let output = last.call(&Arguments::new("{}"), ToolContext::new()).await.unwrap();
    assert_eq!(output.tree.model_text(), "hello");
}

// A10: whole segments of a module path
#[test]
fn discovered_tools_stand_under_the_module_paths_that_are_asked_for() {
    assert_eq!(names(&Discovery::new().under("attache_linked_orders::open")), ["orders.open", "orders.late"]);
    let two = Discovery::new().under("attache_linked_stock").under(module_path!());
    assert_eq!(names(&two), ["stock.count", "goodbye", "hello"]);
    assert_eq!(names(&Discovery::new().under("nothing")), [""; 0]);
}

// A11
#[test]
fn discovered_tools_are_of_the_types_that_are_asked_for_and_both_add_up() {
    assert_eq!(names(&Discovery::new().of::<Ledger>()), ["ledger.total"]);
    let mixed = Discovery::new().of::<Ledger>().under("attache_linked_stock").of::<Till>();
    assert_eq!(names(&mixed), ["ledger.total", "stock.count"]);
    // One that has no default is said, and given by hand.
    assert_eq!(mixed.left_out(), ["attache_linked_orders::Till"]);
    assert_eq!(Till::open(5).into_tools()[0].spec().definition.name(), "till.count");
}

//! Registers what `#[tool]` and `#[toolbox]` make, where the feature `discovery` is on. The attributes always ask for
//! it, so that a library need not know if a program wants to discover its tools.

/// Registers the tool of a function.
#[cfg(feature = "discovery")]
#[doc(hidden)]
#[macro_export]
macro_rules! __register_tool {
    ($function:literal, $make:path) => {
        const _: () = {
            #[allow(deprecated)]
            fn make() -> ::std::option::Option<::std::vec::Vec<::std::sync::Arc<dyn $crate::Tool>>> {
                let tool: ::std::sync::Arc<dyn $crate::Tool> = ::std::sync::Arc::new($make());
                ::std::option::Option::Some(::std::vec::Vec::from([tool]))
            }
            $crate::__private::inventory::submit! {
                $crate::__private::Registration::new(
                    ::std::module_path!(), $function, ::std::option::Option::None, make,
                )
            }
        };
    };
}

/// Registers the tools of a type.
#[cfg(feature = "discovery")]
#[doc(hidden)]
#[macro_export]
macro_rules! __register_toolbox {
    ($type:ty) => {
        const _: () = {
            #[allow(deprecated)]
            fn make() -> ::std::option::Option<::std::vec::Vec<::std::sync::Arc<dyn $crate::Tool>>> {
                #[allow(unused_imports)]
                use $crate::__private::NotMade as _;
                let made: ::std::option::Option<$type> =
                    $crate::__private::MadeWithDefault::<$type>::new().made();
                made.map(<$type>::into_tools)
            }
            $crate::__private::inventory::submit! {
                $crate::__private::Registration::new(
                    ::std::module_path!(),
                    ::std::stringify!($type),
                    ::std::option::Option::Some(::std::any::TypeId::of::<$type>),
                    make,
                )
            }
        };
    };
}

/// Registers nothing: nobody discovers tools.
#[cfg(not(feature = "discovery"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __register_tool {
    ($($tokens:tt)*) => {};
}

/// Registers nothing: nobody discovers tools.
#[cfg(not(feature = "discovery"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __register_toolbox {
    ($($tokens:tt)*) => {};
}

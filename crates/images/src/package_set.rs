//! Sets of packages that are slow to import, beyond those of the base image.

use std::fmt;
use std::str::FromStr;

use crate::imports;

/// A group of packages that images can keep ready, with the top-level modules that belong to it.
///
/// The name is also that of the file in `wasm/guest/images` that imports and uses them.
struct Group {
    name: &'static str,
    modules: &'static [&'static str],
}

/// All groups, in the order in which an image imports them.
///
/// The group of batteries is the last one: what is imported before it does not see them.
const GROUPS: [Group; 11] = [
    Group {
        name: "documents",
        modules: &["jinja2", "openpyxl", "pypdf", "reportlab", "tabulate", "xlsxwriter", "yaml"],
    },
    Group {
        name: "http",
        modules: &["aiohttp", "http", "httpcore", "httpx", "requests", "ssl", "urllib3", "xmlrpc"],
    },
    Group { name: "lxml", modules: &["bs4", "html5lib", "lxml"] },
    Group { name: "matplotlib", modules: &["matplotlib", "mpl_toolkits", "pylab", "seaborn"] },
    Group { name: "networkx", modules: &["networkx"] },
    Group { name: "pillow", modules: &["PIL"] },
    Group { name: "scipy", modules: &["scipy"] },
    Group { name: "sklearn", modules: &["joblib", "sklearn"] },
    Group { name: "statsmodels", modules: &["patsy", "statsmodels"] },
    Group { name: "sympy", modules: &["mpmath", "sympy"] },
    Group {
        name: "pydantic",
        modules: &[
            "anthropic",
            "fastapi",
            "instructor",
            "jsonschema",
            "jsonschema_specifications",
            "langchain_core",
            "mcp",
            "openai",
            "orjson",
            "pydantic",
            "pydantic_core",
            "pydantic_settings",
            "referencing",
            "rpds",
        ],
    },
];

/// The batteries that the group `pydantic` imports.
const PACKAGES_OF_PYDANTIC: [&str; 11] = [
    "annotated-types",
    "idna",
    "jsonpointer",
    "jsonschema",
    "jsonschema-specifications",
    "orjson",
    "pydantic",
    "pydantic-core",
    "referencing",
    "rpds-py",
    "typing-inspection",
];

/// Packages that jsonschema looks for while it is imported, to check formats: those of its extras `format` and
/// `format-nongpl`. An image has looked in vain.
const MISSED_BY_JSONSCHEMA: [&str; 8] = [
    "fqdn",
    "isoduration",
    "rfc3339-validator",
    "rfc3986-validator",
    "rfc3987",
    "rfc3987-syntax",
    "uri-template",
    "webcolors",
];

/// Methods of pandas that import other packages, and the group of those packages.
const BY_PANDAS: [(&str, &str); 5] = [
    (".read_excel(", "documents"),
    (".to_excel(", "documents"),
    (".read_html(", "lxml"),
    (".plot(", "matplotlib"),
    (".plot.", "matplotlib"),
];

/// Modules whose package alone is not informative, and the group that they belong to.
const BY_NAME: [(&str, &str); 2] = [("urllib.request", "http"), ("runtime import http", "http")];

/// A set of groups of packages.
///
/// Names an image: `base` without any, else the groups' names joined by `+`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PackageSet(u16);

impl PackageSet {
    /// No group: the base image.
    pub const NONE: Self = Self(0);

    /// Every group there is.
    pub const ALL: Self = Self((1 << GROUPS.len()) - 1);

    /// The image of reproducible runs: the base image, made without anything of the machine and with
    /// a fixed secret of hashes. With [groups of batteries](Self::OF_BATTERIES) it is that of reproducible
    /// runs which import them. No other run begins as one of these.
    pub const REPRODUCIBLE: Self = Self(1 << 15);

    /// The groups of batteries. Their images are made with the batteries, and only runs that have the
    /// same batteries may begin as them.
    pub const OF_BATTERIES: Self = Self(1 << (GROUPS.len() - 1));

    /// The packages that the import statements of a Python source name.
    ///
    /// The result is a guess and affects only the speed of the run. The run imports overlooked
    /// packages itself; superfluous ones cost a larger image.
    #[must_use]
    pub fn of_source(source: &str) -> Self {
        let source = imports::beginning(source);
        let mut packages = Self::NONE;
        let mut has_pandas = false;
        for (module, group) in BY_NAME {
            if source.contains(module) {
                packages = packages.union(Self::of_group(group));
            }
        }
        for module in imports::modules(source) {
            has_pandas |= module == "pandas";
            packages = packages.with_module(module);
        }
        if has_pandas {
            for (call, group) in BY_PANDAS {
                if source.contains(call) {
                    packages = packages.union(Self::of_group(group));
                }
            }
        }
        packages
    }

    /// Adds the group of a module such as `sklearn.linear_model`, if it belongs to one.
    #[must_use]
    pub fn with_module(self, module: &str) -> Self {
        let root = module.split('.').next().unwrap_or(module);
        let group = GROUPS.iter().find(|group| group.modules.contains(&root));
        group.map_or(self, |group| self.union(Self::of_group(group.name)))
    }

    /// The groups of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The groups of this set that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The image of a reproducible run that imports these packages.
    #[must_use]
    pub const fn reproducible(self) -> Self {
        Self(self.0 & Self::OF_BATTERIES.0).union(Self::REPRODUCIBLE)
    }

    /// True for an image of reproducible runs.
    #[must_use]
    pub const fn is_reproducible(self) -> bool {
        self.covers(Self::REPRODUCIBLE)
    }

    /// True if images with [groups of batteries](Self::OF_BATTERIES) have imported this package, or have
    /// looked for it. A run that has another version of it must not begin as them.
    #[must_use]
    pub fn has_battery(package: &str) -> bool {
        PACKAGES_OF_PYDANTIC.contains(&package) || MISSED_BY_JSONSCHEMA.contains(&package)
    }

    /// True if every group of `other` is in this set.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The number of groups that are in both sets.
    #[must_use]
    pub const fn shared_with(self, other: Self) -> u32 {
        (self.0 & other.0).count_ones()
    }

    /// Names of the groups.
    pub fn groups(self) -> impl Iterator<Item = &'static str> + Clone {
        let has = move |(at, _): &(usize, &Group)| self.0 & (1 << at) != 0;
        GROUPS.iter().enumerate().filter(has).map(|(_, group)| group.name)
    }

    fn of_group(name: &str) -> Self {
        GROUPS.iter().position(|group| group.name == name).map_or(Self::NONE, |at| Self(1 << at))
    }
}

/// Prints the name of the image.
impl fmt::Display for PackageSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups = self.groups();
        let first = if self.is_reproducible() { Some(REPRODUCIBLE) } else { groups.next() };
        f.write_str(first.unwrap_or(BASE))?;
        groups.try_for_each(|group| write!(f, "+{group}"))
    }
}

/// Name of the image without any group.
const BASE: &str = "base";

/// Name of the image of reproducible runs.
const REPRODUCIBLE: &str = "reproducible";

/// A name that does not belong to any image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a group of packages for images; the groups are {}, joined by `+`",
    .name.escape_debug(),
    GROUPS.iter().map(|group| group.name).collect::<Vec<_>>().join(", ")
)]
pub struct UnknownGroup {
    /// The part of the name that is unknown.
    pub name: String,
}

/// Reads the name of an image, such as `matplotlib+sklearn`, in any order.
impl FromStr for PackageSet {
    type Err = UnknownGroup;

    fn from_str(name: &str) -> Result<Self, UnknownGroup> {
        if name == BASE {
            return Ok(Self::NONE);
        }
        let mut parts = name.split('+').peekable();
        let reproducible = parts.next_if_eq(&REPRODUCIBLE).is_some();
        let (start, known) = if reproducible {
            (Self::REPRODUCIBLE, Self::OF_BATTERIES)
        } else {
            (Self::NONE, Self::ALL)
        };
        parts.try_fold(start, |packages, part| match Self::of_group(part) {
            group if group != Self::NONE && known.covers(group) => Ok(packages.union(group)),
            _ => Err(UnknownGroup { name: part.to_owned() }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(source: &str) -> String {
        PackageSet::of_source(source).to_string()
    }

    #[test]
    fn imports_decide_what_a_run_needs() {
        for (source, expected) in [
            ("", "base"),
            ("import json, os\nimport pandas as pd\n", "base"),
            ("import sklearn", "sklearn"),
            ("from sklearn.linear_model import LinearRegression", "sklearn"),
            ("import matplotlib.pyplot as plt, numpy", "matplotlib"),
            ("def main(args):\n    from PIL import Image\n    import seaborn", "matplotlib+pillow"),
            ("import scipy.stats; import networkx as nx", "networkx+scipy"),
            ("import sklearnish, mypkg.sklearn", "base"),
            ("x = 'import'\nimportant = 1\nfrom_ = 2", "base"),
            ("import pandas as pd\npd.read_excel(path)", "documents"),
            ("import pandas as pd\ntable.plot(x='a')", "matplotlib"),
            ("turtle.plot(x)", "base"),
            ("import urllib.request", "http"),
            ("from urllib import parse\nimport urllib.parse", "base"),
            ("from runtime import http", "http"),
            ("import requests, ssl", "http"),
            ("from pydantic import BaseModel", "pydantic"),
            ("import openai, scipy", "scipy+pydantic"),
            ("import jsonschema", "pydantic"),
            ("import orjson as json", "pydantic"),
        ] {
            assert_eq!(named(source), expected, "{source:?}");
        }
    }

    #[test]
    fn names_are_read_as_they_are_printed() {
        for bits in 0..=PackageSet::ALL.0 {
            let packages = PackageSet(bits);
            assert_eq!(packages.to_string().parse(), Ok(packages));
        }
        let reproducible = PackageSet::REPRODUCIBLE;
        for name in ["reproducible", "reproducible+pydantic"] {
            let packages: PackageSet = name.parse().unwrap();
            assert_eq!((packages.to_string().as_str(), packages.is_reproducible()), (name, true));
        }
        for name in
            ["reproducible+", "reproducible+lxml", "pydantic+reproducible", "reproducible+base"]
        {
            assert!(name.parse::<PackageSet>().is_err(), "{name:?}");
        }
        assert_eq!(reproducible.groups().count(), 0);
        assert_eq!(reproducible.shared_with(PackageSet::ALL), 0);
        assert_eq!(
            "sklearn+matplotlib".parse::<PackageSet>().unwrap().to_string(),
            "matplotlib+sklearn"
        );
        for name in ["", "+", "numpy", "base+sklearn", "sklearn+", "Sklearn", "all"] {
            assert!(name.parse::<PackageSet>().is_err(), "{name:?}");
        }
        let said = "numpi".parse::<PackageSet>().unwrap_err().to_string();
        assert!(said.contains("`numpi`") && said.contains("matplotlib, networkx"), "{said}");
    }

    #[test]
    fn reproducible_runs_have_images_of_batteries_alone() {
        let all = PackageSet::ALL.reproducible();
        assert_eq!(all.to_string(), "reproducible+pydantic");
        assert_eq!(PackageSet::NONE.reproducible(), PackageSet::REPRODUCIBLE);
        assert!(!PackageSet::ALL.is_reproducible() && !PackageSet::ALL.covers(all));
    }

    #[test]
    fn packages_that_an_image_lacks_are_as_those_that_it_has() {
        for package in ["jsonschema", "webcolors"] {
            assert!(PackageSet::has_battery(package), "{package}");
        }
        assert!(!PackageSet::has_battery("numpy"));
    }

    #[test]
    fn sets_are_compared_as_sets() {
        let [one, two] = ["lxml", "lxml+sympy"].map(|name| name.parse::<PackageSet>().unwrap());
        assert!(two.covers(one) && !one.covers(two) && one.covers(PackageSet::NONE));
        assert_eq!((one.union(two), one.shared_with(two)), (two, 1));
        assert!(PackageSet::ALL.covers(two));
    }
}

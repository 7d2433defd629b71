//! Reads and checks a native module before anything of it is placed.

use wasmparser::{
    ConstExpr, DataKind, DataSectionReader, ElementItems, ElementKind, Export, ExternalKind,
    FuncType, FunctionBody, GlobalSectionReader, Import, KnownCustom, Operator, Parser, Payload,
    ValType, Validator, WasmFeatures,
};

use crate::native::error::SideFault;
use crate::native::side::dylink::DylinkSizes;

/// Largest native module, in bytes.
const MAX_MODULE: usize = 32 << 20;

/// What native modules may use. Everything that the engine's code may use, the exceptions that are
/// translated, and sums in constants, which are computed.
const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .union(WasmFeatures::EXCEPTIONS)
    .union(WasmFeatures::LEGACY_EXCEPTIONS)
    .union(WasmFeatures::EXTENDED_CONST);

/// A constant of a native module, which is known once the module has its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SideConstant {
    Number(i32),
    /// The value of the global with this index.
    Global(u32),
    /// The sum of the value of a global and a number.
    Sum(u32, i32),
}

/// A function of the table, with the slot.
#[derive(Debug)]
pub(crate) struct SideElements {
    pub(crate) offset: SideConstant,
    pub(crate) functions: Vec<u32>,
}

/// A native module, read.
#[derive(Debug, Default)]
pub(crate) struct SideModule<'a> {
    pub(crate) sizes: DylinkSizes,
    pub(crate) types: Vec<FuncType>,
    pub(crate) imports: Vec<Import<'a>>,
    /// Type index of each function that is not imported.
    pub(crate) functions: Vec<u32>,
    /// The values of its own globals.
    pub(crate) globals: Vec<SideConstant>,
    pub(crate) exports: Vec<Export<'a>>,
    pub(crate) elements: Vec<SideElements>,
    pub(crate) bodies: Vec<FunctionBody<'a>>,
    pub(crate) data: Vec<(SideConstant, &'a [u8])>,
    /// The function that clears memory at the start.
    pub(crate) start: Option<u32>,
    /// Names of functions, for profiles.
    pub(crate) names: Vec<(u32, &'a str)>,
}

impl<'a> SideModule<'a> {
    /// Reads and validates a module.
    pub(crate) fn read(module: &'a [u8]) -> Result<Self, SideFault> {
        if module.len() > MAX_MODULE {
            return Err(SideFault::Unsupported("more than 32 MiB"));
        }
        Validator::new_with_features(FEATURES).validate_all(module)?;
        let mut side = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            side.take(payload?)?;
        }
        Ok(side)
    }

    fn take(&mut self, payload: Payload<'a>) -> Result<(), SideFault> {
        match payload {
            Payload::TypeSection(types) => {
                for of in types.into_iter_err_on_gc_types() {
                    self.types.push(of?);
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    self.imports.push(import?);
                }
            }
            Payload::FunctionSection(functions) => {
                for of in functions {
                    self.functions.push(of?);
                }
            }
            Payload::GlobalSection(globals) => self.take_globals(globals)?,
            Payload::ExportSection(exports) => {
                for export in exports {
                    self.exports.push(export?);
                }
            }
            Payload::StartSection { func, .. } => self.start = Some(func),
            Payload::ElementSection(elements) => {
                for element in elements {
                    self.elements.push(elements_of(element?)?);
                }
            }
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::DataSection(segments) => self.take_data(segments)?,
            Payload::CustomSection(custom) => match custom.as_known() {
                KnownCustom::Dylink0(_) => self.sizes = DylinkSizes::read(custom.data())?,
                KnownCustom::Name(parts) => self.take_names(parts),
                _ => {}
            },
            Payload::TableSection(_) => {
                return Err(SideFault::Unsupported("a table of its own"));
            }
            Payload::MemorySection(_) => {
                return Err(SideFault::Unsupported("a memory of its own"));
            }
            Payload::TagSection(_) => return Err(SideFault::Unsupported("a tag of its own")),
            Payload::Version { .. }
            | Payload::DataCountSection { .. }
            | Payload::CodeSectionStart { .. }
            | Payload::End(_) => {}
            _ => return Err(SideFault::Unsupported("an unknown section")),
        }
        Ok(())
    }

    fn take_globals(&mut self, globals: GlobalSectionReader<'a>) -> Result<(), SideFault> {
        for global in globals {
            let global = global?;
            if global.ty.mutable || global.ty.content_type != ValType::I32 {
                return Err(SideFault::Unsupported("a global that is no constant of 32 bits"));
            }
            self.globals.push(constant(&global.init_expr)?);
        }
        Ok(())
    }

    fn take_data(&mut self, segments: DataSectionReader<'a>) -> Result<(), SideFault> {
        for segment in segments {
            let segment = segment?;
            let DataKind::Active { memory_index: 0, offset_expr } = segment.kind else {
                return Err(SideFault::Unsupported("a passive data segment"));
            };
            self.data.push((constant(&offset_expr)?, segment.data));
        }
        Ok(())
    }

    /// Names are only descriptions, so a malformed section has none.
    fn take_names(&mut self, parts: wasmparser::NameSectionReader<'a>) {
        for part in parts {
            let Ok(wasmparser::Name::Function(functions)) = part else { continue };
            for function in functions.into_iter().flatten() {
                self.names.push((function.index, function.name));
            }
        }
    }

    /// The index of the exported function with this name.
    pub(crate) fn exported(&self, name: &str) -> Option<u32> {
        let is_it =
            |export: &&Export<'_>| export.name == name && matches!(export.kind, ExternalKind::Func);
        self.exports.iter().find(is_it).map(|export| export.index)
    }
}

const OTHER_ELEMENTS: &str = "elements that are no functions of its table";

fn elements_of(element: wasmparser::Element<'_>) -> Result<SideElements, SideFault> {
    let ElementKind::Active { table_index: None | Some(0), offset_expr } = element.kind else {
        return Err(SideFault::Unsupported(OTHER_ELEMENTS));
    };
    let ElementItems::Functions(functions) = element.items else {
        return Err(SideFault::Unsupported(OTHER_ELEMENTS));
    };
    let functions = functions.into_iter().collect::<Result<_, _>>()?;
    Ok(SideElements { offset: constant(&offset_expr)?, functions })
}

/// The value of a constant expression: one instruction, or the sum of a global and a number.
fn constant(expression: &ConstExpr<'_>) -> Result<SideConstant, SideFault> {
    let mut operators = expression.get_operators_reader();
    let two = (operators.read()?, operators.read()?);
    if let (Operator::GlobalGet { global_index }, Operator::I32Const { value }) = two
        && let (Operator::I32Add, Operator::End) = (operators.read()?, operators.read()?)
    {
        return Ok(SideConstant::Sum(global_index, value));
    }
    match two {
        (Operator::I32Const { value }, Operator::End) => Ok(SideConstant::Number(value)),
        (Operator::GlobalGet { global_index }, Operator::End) => {
            Ok(SideConstant::Global(global_index))
        }
        _ => Err(SideFault::Unsupported("a constant other than a number, a global or their sum")),
    }
}

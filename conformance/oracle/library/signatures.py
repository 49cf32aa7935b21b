"""Signatures of predeclared functions, built-in methods and the library, for the parser: calls are typed like any other."""

LIBRARY = """struct RegexMatch { pub text: String, pub start: Int, pub end: Int, pub groups: Array<Option<String>> }
trait Core { fn print(x: Any); fn println(x: Any); fn len(x: Any) -> Int; fn typeof(x: Any) -> String;
    fn panic(msg: String) -> Never; fn assert(c: Any, msg: String = ""); fn assert_eq(a: Any, b: Any, msg: String = "");
    fn assert_ne(a: Any, b: Any, msg: String = ""); fn Some<T>(x: T) -> Option<T>; fn Ok<T, E>(x: T = nil) -> Result<T, E>;
    fn Err<T, E>(e: E) -> Result<T, E>; fn emit(channel: String, payload: Any = nil); }
trait Int { NUMBER } trait Float { NUMBER }
trait String {
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn contains(self, s: String) -> Bool; fn starts_with(self, s: String) -> Bool;
    fn ends_with(self, s: String) -> Bool; fn trim(self) -> String; fn trim_start(self) -> String; fn trim_end(self) -> String;
    fn to_upper(self) -> String; fn to_lower(self) -> String; fn to_uppercase(self) -> String; fn to_lowercase(self) -> String;
    fn repeat(self, n: Int) -> String; fn parse_int(self) -> Result<Int, ParseError>;
    fn parse_float(self) -> Result<Float, ParseError>; fn split(self, sep: String) -> Array<String>;
    fn replace(self, from: String, to: String) -> String; fn substring(self, a: Int, b: Int) -> String;
    fn get(self, i: Int) -> Option<String>; fn index_of(self, s: String) -> Option<Int>; fn chars(self) -> Array<String>;
    fn lines(self) -> Array<String>; fn reverse(self) -> String; }
trait Array<T> {
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn get(self, i: Int) -> Option<T>; fn first(self) -> Option<T>;
    fn last(self) -> Option<T>; fn push(mut self, x: T); fn pop(mut self) -> Option<T>; fn insert(mut self, i: Int, x: T);
    fn remove(mut self, i: Int) -> T; fn clear(mut self); fn reverse(mut self); fn sort(mut self);
    fn sort_by(mut self, f: fn(T, T) -> Int); fn contains(self, x: T) -> Bool; fn index_of(self, x: T) -> Option<Int>;
    fn map<U>(self, f: fn(T) -> U) -> Array<U>; fn flat_map<U>(self, f: fn(T) -> Array<U>) -> Array<U>;
    fn filter(self, f: fn(T) -> Bool) -> Array<T>; fn find(self, f: fn(T) -> Bool) -> Option<T>;
    fn any(self, f: fn(T) -> Bool) -> Bool; fn all(self, f: fn(T) -> Bool) -> Bool;
    fn reduce<A>(self, init: A, f: fn(A, T) -> A) -> A; fn enumerate(self) -> Array<(Int, T)>;
    fn zip<U>(self, o: Array<U>) -> Array<(T, U)>; fn slice(self, a: Int, b: Int) -> Array<T>;
    fn concat(self, o: Array<T>) -> Array<T>; fn join(self, sep: String = "") -> String; fn sum(self) -> T; }
trait Map<K, V> {
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn has(self, k: K) -> Bool; fn get(self, k: K) -> Option<V>;
    fn set(mut self, k: K, v: V); fn delete(mut self, k: K) -> Bool; fn clear(mut self); fn keys(self) -> Array<K>;
    fn values(self) -> Array<V>; fn entries(self) -> Array<(K, V)>; fn merge(self, o: Map<K, V>) -> Map<K, V>; }
trait Tuple { fn len(self) -> Int; }
trait Range {
    fn len(self) -> Int; fn is_empty(self) -> Bool; fn contains(self, i: Int) -> Bool; fn to_array(self) -> Array<Int>;
    fn rev(self) -> Array<Int>; fn step_by(self, n: Int) -> Array<Int>; fn map<U>(self, f: fn(Int) -> U) -> Array<U>;
    fn filter(self, f: fn(Int) -> Bool) -> Array<Int>; }
trait Option<T> {
    fn is_some(self) -> Bool; fn is_none(self) -> Bool; fn unwrap(self) -> T; fn expect(self, msg: String) -> T;
    fn unwrap_or(self, v: T) -> T; fn unwrap_or_else(self, f: fn() -> T) -> T; fn map<U>(self, f: fn(T) -> U) -> Option<U>;
    fn and_then<U>(self, f: fn(T) -> Option<U>) -> Option<U>; fn ok_or<E>(self, e: E) -> Result<T, E>;
    fn filter(self, f: fn(T) -> Bool) -> Option<T>; fn or(self, o: Option<T>) -> Option<T>; }
trait Result<T, E> {
    fn is_ok(self) -> Bool; fn is_err(self) -> Bool; fn unwrap(self) -> T; fn expect(self, msg: String) -> T;
    fn unwrap_or(self, v: T) -> T; fn unwrap_or_else(self, f: fn(E) -> T) -> T; fn map<U>(self, f: fn(T) -> U) -> Result<U, E>;
    fn and_then<U>(self, f: fn(T) -> Result<U, E>) -> Result<U, E>; fn map_err<A>(self, f: fn(E) -> A) -> Result<T, A>;
    fn ok(self) -> Option<T>; fn err(self) -> Option<E>; fn unwrap_err(self) -> E;
    fn context(self, msg: String) -> Result<T, Any>; }
trait Set<T> { fn new() -> Set<T>; fn from(xs: Array<T>) -> Set<T>; BAG fn insert(mut self, v: T) -> Bool;
    fn remove(mut self, v: T) -> Bool; fn contains(self, v: T) -> Bool; fn union(self, o: Set<T>) -> Set<T>;
    fn intersection(self, o: Set<T>) -> Set<T>; fn difference(self, o: Set<T>) -> Set<T>; }
trait Queue<T> { fn new() -> Queue<T>; BAG fn enqueue(mut self, v: T); fn dequeue(mut self) -> Option<T>;
    fn peek(self) -> Option<T>; fn rest(self) -> Queue<T>; }
trait Stack<T> { fn new() -> Stack<T>; BAG fn push(mut self, v: T); fn pop(mut self) -> Option<T>;
    fn peek(self) -> Option<T>; fn rest(self) -> Stack<T>; }
trait math { fn abs(x: Any) -> Number; fn min(a: Any, b: Any) -> Number; fn max(a: Any, b: Any) -> Number;
    fn sqrt(x: Float) -> Float; fn clamp(x: Any, lo: Any, hi: Any) -> Number; fn pow(b: Any, e: Any) -> Number;
    fn floor(x: Any) -> Int; fn ceil(x: Any) -> Int; fn round(x: Any) -> Int; }
trait string { fn len(s: String) -> Int; fn trim(s: String) -> String; fn trim_start(s: String) -> String;
    fn trim_end(s: String) -> String; fn to_upper(s: String) -> String; fn to_lower(s: String) -> String;
    fn contains(s: String, part: String) -> Bool; fn starts_with(s: String, part: String) -> Bool;
    fn ends_with(s: String, part: String) -> Bool; fn split(s: String, sep: String) -> Array<String>;
    fn replace(s: String, from: String, to: String) -> String; fn substring(s: String, a: Int, b: Int) -> String;
    fn repeat(s: String, n: Int) -> String; fn reverse(s: String) -> String; fn parse_int(s: String) -> Result<Int, ParseError>;
    fn parse_float(s: String) -> Result<Float, ParseError>; fn join(xs: Array<Any>, sep: String) -> String; }
trait fmt { fn format(t: String, args: Array<Any>) -> String; fn pad_left(s: String, width: Int, ch: String = " ") -> String;
    fn pad_right(s: String, width: Int, ch: String = " ") -> String; fn truncate(s: String, n: Int) -> String;
    fn indent(s: String, n: Int) -> String; fn debug(v: Any) -> String; }
trait json { fn parse(s: String) -> Result<Any, JsonError>; fn is_valid(s: String) -> Bool; fn stringify(v: Any) -> String;
    fn stringify_pretty(v: Any, indent: Int = 2) -> String; fn parse_as<T>(s: String) -> Result<T, JsonError>; }
trait crypto { fn sha256(s: String) -> String; fn md5(s: String) -> String; }
trait log { fn debug(v: Any); fn info(v: Any); fn warn(v: Any); fn error(v: Any); }
trait prompt { fn template(t: String, vars: Map<String, Any>) -> String; }
trait regex { fn is_match(pattern: String, s: String) -> Result<Bool, RegexError>;
    fn find(pattern: String, s: String) -> Result<Option<RegexMatch>, RegexError>;
    fn find_all(pattern: String, s: String) -> Result<Array<RegexMatch>, RegexError>;
    fn captures(pattern: String, s: String) -> Result<Option<Array<Option<String>>>, RegexError>;
    fn replace(pattern: String, s: String, with: String) -> Result<String, RegexError>; }
"""
NUMBER = """fn abs(self) -> Number; fn sqrt(self) -> Float; fn pow(self, e: Any) -> Number; fn min(self, o: Any) -> Number;
    fn max(self, o: Any) -> Number; fn floor(self) -> Int; fn ceil(self) -> Int; fn round(self) -> Int;
    fn to_float(self) -> Float; fn to_int(self) -> Int;"""
BAG = "fn len(self) -> Int; fn is_empty(self) -> Bool; fn to_array(self) -> Array<T>;"

(* JSON as Python's json module reads it, and no more: UTF-8, no key twice in one object, at most 32 levels, whole
   numbers of at most 4300 digits. Strings are kept as UTF-8; a surrogate without its partner is refused. *)

type t =
  | Null
  | Bool of bool
  | Int of Z.t
  | Float of float
  | String of string
  | List of t list
  | Object of (string * t) list

exception Malformed of string

let deepest = 32
let most_digits = 4300
let fail reason = raise (Malformed reason)

type source = { text : string; mutable at : int }

let peek s = if s.at < String.length s.text then s.text.[s.at] else '\000'
let ended s = s.at >= String.length s.text
let next s = s.at <- s.at + 1

let rec skip_space s =
  match peek s with
  | ' ' | '\t' | '\n' | '\r' when not (ended s) -> next s; skip_space s
  | _ -> ()

let expect s c = if ended s || peek s <> c then fail "it is not JSON" else next s

let word s text value =
  let n = String.length text in
  if s.at + n <= String.length s.text && String.sub s.text s.at n = text then (s.at <- s.at + n; value)
  else fail "it is not JSON"

let is_digit c = c >= '0' && c <= '9'

(* --- strings ---------------------------------------------------------------------------------------------- *)

(* One character as UTF-8, lone surrogates too. *)
let add_character buffer u =
  let put x = Buffer.add_char buffer (Char.chr x) in
  if u < 0x80 then put u
  else if u < 0x800 then (put (0xc0 lor (u lsr 6)); put (0x80 lor (u land 0x3f)))
  else if u < 0x10000 then (put (0xe0 lor (u lsr 12)); put (0x80 lor ((u lsr 6) land 0x3f)); put (0x80 lor (u land 0x3f)))
  else (put (0xf0 lor (u lsr 18)); put (0x80 lor ((u lsr 12) land 0x3f));
        put (0x80 lor ((u lsr 6) land 0x3f)); put (0x80 lor (u land 0x3f)))

let hex_digit c =
  match c with
  | '0' .. '9' -> Char.code c - 48
  | 'a' .. 'f' -> Char.code c - 87
  | 'A' .. 'F' -> Char.code c - 55
  | _ -> fail "an escape must have four hexadecimal digits"

let four_digits s at =
  if at + 4 > String.length s.text then fail "a text does not end";
  let digit i = hex_digit s.text.[at + i] in
  (digit 0 lsl 12) lor (digit 1 lsl 8) lor (digit 2 lsl 4) lor digit 3

(* After \u: a surrogate and its partner are one character. *)
let unicode_escape s buffer =
  let u = four_digits s s.at in
  s.at <- s.at + 4;
  let partnered =
    u >= 0xd800 && u <= 0xdbff && s.at + 6 <= String.length s.text && s.text.[s.at] = '\\' && s.text.[s.at + 1] = 'u' in
  let low = if partnered then four_digits s (s.at + 2) else 0 in
  if low >= 0xdc00 && low <= 0xdfff then begin
    s.at <- s.at + 6;
    add_character buffer (0x10000 + ((u - 0xd800) lsl 10) + (low - 0xdc00))
  end else if u >= 0xd800 && u <= 0xdfff then fail "half a character has no bytes"
  else add_character buffer u

let escape s buffer =
  if ended s then fail "a text does not end";
  let c = peek s in
  next s;
  match c with
  | '"' | '\\' | '/' -> Buffer.add_char buffer c
  | 'b' -> Buffer.add_char buffer '\b'
  | 'f' -> Buffer.add_char buffer '\012'
  | 'n' -> Buffer.add_char buffer '\n'
  | 'r' -> Buffer.add_char buffer '\r'
  | 't' -> Buffer.add_char buffer '\t'
  | 'u' -> unicode_escape s buffer
  | _ -> fail "a text has an escape that JSON does not have"

let read_string s =
  expect s '"';
  let buffer = Buffer.create 16 in
  let rec go () =
    if ended s then fail "a text does not end";
    let c = peek s in
    next s;
    match c with
    | '"' -> Buffer.contents buffer
    | '\\' -> escape s buffer; go ()
    | c when c < ' ' -> fail "a text has a control character"
    | c -> Buffer.add_char buffer c; go ()
  in
  go ()

(* --- numbers ---------------------------------------------------------------------------------------------- *)

let digits s =
  let from = s.at in
  while is_digit (peek s) do next s done;
  s.at - from

let read_number s =
  let from = s.at in
  if peek s = '-' then next s;
  let before = s.at in
  if peek s = '0' then next s else if digits s = 0 then fail "it is not JSON";
  let whole_digits = s.at - before in
  let back = ref s.at in
  let optional read = if read () then back := s.at else s.at <- !back in
  let real = ref false in
  if peek s = '.' then optional (fun () -> next s; let some = digits s > 0 in if some then real := true; some);
  if peek s = 'e' || peek s = 'E' then
    optional (fun () ->
        next s;
        if peek s = '+' || peek s = '-' then next s;
        let some = digits s > 0 in
        if some then real := true;
        some);
  let text = String.sub s.text from (s.at - from) in
  if !real then Float (float_of_string text)
  else if whole_digits > most_digits then fail "a whole number has too many digits"
  else Int (Z.of_string text)

(* --- values ----------------------------------------------------------------------------------------------- *)

let rec read_value s depth =
  skip_space s;
  if ended s then fail "it ends too early";
  match peek s with
  | '{' -> read_object s (depth + 1)
  | '[' -> read_list s (depth + 1)
  | '"' -> String (read_string s)
  | 't' -> word s "true" (Bool true)
  | 'f' -> word s "false" (Bool false)
  | 'n' -> word s "null" Null
  | 'N' -> word s "NaN" (Float nan)
  | 'I' -> word s "Infinity" (Float infinity)
  | '-' when s.at + 1 < String.length s.text && s.text.[s.at + 1] = 'I' -> word s "-Infinity" (Float neg_infinity)
  | _ -> read_number s

and refuse_depth depth = if depth > deepest then fail "it is nested more than 32 deep"

and read_list s depth =
  refuse_depth depth;
  expect s '[';
  skip_space s;
  if peek s = ']' then (next s; List [])
  else
    let rec go found =
      let value = read_value s depth in
      skip_space s;
      if peek s = ',' && not (ended s) then (next s; go (value :: found))
      else (expect s ']'; List (List.rev (value :: found)))
    in
    go []

and read_object s depth =
  refuse_depth depth;
  expect s '{';
  skip_space s;
  let seen = Hashtbl.create 8 in
  let pair () =
    skip_space s;
    let key = read_string s in
    if Hashtbl.mem seen key then fail "a field is there twice";
    Hashtbl.add seen key ();
    skip_space s;
    expect s ':';
    let value = read_value s depth in
    skip_space s;
    (key, value) in
  if peek s = '}' then (next s; Object [])
  else
    let rec go found =
      let found = pair () :: found in
      if peek s = ',' && not (ended s) then (next s; go found) else (expect s '}'; Object (List.rev found))
    in
    go []

(* Strictly UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF. *)
let refuse_other_encodings text =
  let n = String.length text in
  let byte i = if i < n then Char.code text.[i] else 0 in
  let tail i = byte i land 0xc0 = 0x80 && i < n in
  let rec go i =
    if i < n then
      let b = byte i in
      if b < 0x80 then go (i + 1)
      else if b >= 0xc2 && b <= 0xdf && tail (i + 1) then go (i + 2)
      else if b land 0xf0 = 0xe0 && tail (i + 1) && tail (i + 2)
              && not (b = 0xe0 && byte (i + 1) < 0xa0) && not (b = 0xed && byte (i + 1) > 0x9f) then go (i + 3)
      else if b >= 0xf0 && b <= 0xf4 && tail (i + 1) && tail (i + 2) && tail (i + 3)
              && not (b = 0xf0 && byte (i + 1) < 0x90) && not (b = 0xf4 && byte (i + 1) > 0x8f) then go (i + 4)
      else fail "it is not UTF-8"
  in
  go 0

let of_string text =
  refuse_other_encodings text;
  let s = { text; at = 0 } in
  let value = read_value s 0 in
  skip_space s;
  if not (ended s) then fail "it goes on after its end";
  value

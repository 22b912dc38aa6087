(* Values as the one JSON text that a digest is taken of: keys in order, no spaces, ASCII; as Python writes it. *)

open Json

(* The characters of a text as numbers. *)
let characters text =
  let byte i = Char.code text.[i] in
  let low i = byte i land 0x3f in
  let rec go i found =
    if i >= String.length text then List.rev found
    else
      let b = byte i in
      if b < 0x80 then go (i + 1) (b :: found)
      else if b < 0xe0 then go (i + 2) ((((b land 0x1f) lsl 6) lor low (i + 1)) :: found)
      else if b < 0xf0 then go (i + 3) ((((b land 0x0f) lsl 12) lor (low (i + 1) lsl 6) lor low (i + 2)) :: found)
      else
        let u = ((b land 0x07) lsl 18) lor (low (i + 1) lsl 12) lor (low (i + 2) lsl 6) lor low (i + 3) in
        go (i + 4) (u :: found)
  in
  go 0 []

let add_escaped buffer u =
  match u with
  | 0x22 -> Buffer.add_string buffer "\\\""
  | 0x5c -> Buffer.add_string buffer "\\\\"
  | 0x0a -> Buffer.add_string buffer "\\n"
  | 0x0d -> Buffer.add_string buffer "\\r"
  | 0x09 -> Buffer.add_string buffer "\\t"
  | 0x0c -> Buffer.add_string buffer "\\f"
  | 0x08 -> Buffer.add_string buffer "\\b"
  | u when u >= 0x20 && u <= 0x7e -> Buffer.add_char buffer (Char.chr u)
  | u when u < 0x10000 -> Buffer.add_string buffer (Printf.sprintf "\\u%04x" u)
  | u ->
      let v = u - 0x10000 in
      Buffer.add_string buffer (Printf.sprintf "\\u%04x\\u%04x" (0xd800 lor (v lsr 10)) (0xdc00 lor (v land 0x3ff)))

let plain text = String.for_all (fun c -> c >= ' ' && c <= '~' && c <> '"' && c <> '\\') text

let add_text buffer text =
  Buffer.add_char buffer '"';
  if plain text then Buffer.add_string buffer text else List.iter (add_escaped buffer) (characters text);
  Buffer.add_char buffer '"'

(* The shortest decimal that is read as the same float, written as Python writes it. *)
let float_text x =
  if Float.is_nan x || Float.is_integer x = false && Float.abs x = infinity || Float.abs x = infinity then
    fail "a number is infinite, or none";
  let rec shortest places =
    let text = Printf.sprintf "%.*e" places x in
    if places >= 16 || float_of_string text = x then text else shortest (places + 1) in
  let text = shortest 0 in
  let mark = String.index text 'e' in
  let exponent = int_of_string (let e = String.sub text (mark + 1) (String.length text - mark - 1) in
                                if e.[0] = '+' then String.sub e 1 (String.length e - 1) else e) in
  let negative = text.[0] = '-' in
  let digits = String.concat "" (String.split_on_char '.' (String.sub text (if negative then 1 else 0)
                                                             (mark - if negative then 1 else 0))) in
  let n = String.length digits in
  let after from = String.sub digits from (n - from) in
  let body =
    if exponent < -4 || exponent >= 16 then
      Printf.sprintf "%c%se%c%02d" digits.[0] (if n > 1 then "." ^ after 1 else "") (if exponent < 0 then '-' else '+')
        (abs exponent)
    else if exponent < 0 then "0." ^ String.make (-exponent - 1) '0' ^ digits
    else if n <= exponent + 1 then digits ^ String.make (exponent + 1 - n) '0' ^ ".0"
    else String.sub digits 0 (exponent + 1) ^ "." ^ after (exponent + 1) in
  (if negative then "-" else "") ^ body

let rec add buffer value =
  let separated add_one items =
    List.iteri (fun i item -> if i > 0 then Buffer.add_char buffer ','; add_one item) items in
  match value with
  | Null -> Buffer.add_string buffer "null"
  | Bool b -> Buffer.add_string buffer (string_of_bool b)
  | Int z -> Buffer.add_string buffer (Z.to_string z)
  | Float x -> Buffer.add_string buffer (float_text x)
  | String text -> add_text buffer text
  | List items -> Buffer.add_char buffer '['; separated (add buffer) items; Buffer.add_char buffer ']'
  | Object fields ->
      Buffer.add_char buffer '{';
      separated
        (fun (key, item) -> add_text buffer key; Buffer.add_char buffer ':'; add buffer item)
        (List.sort (fun (a, _) (b, _) -> String.compare a b) fields);
      Buffer.add_char buffer '}'

let text value =
  let buffer = Buffer.create 4096 in
  add buffer value;
  Buffer.contents buffer

(* The digest of a file's fields, all but the digest itself. *)
let digest fields = Sha256.hex (text (Object (List.filter (fun (key, _) -> key <> "sha256") fields)))

import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js'
import { concatBytes, encodeUtf8, sha256Of, toBase64, toHex, u64 } from '../../../core/bytes.ts'
import { createNoteSigner } from '../../../core/log/note.ts'

/** A witness with a key of the type 04 (Ed25519) or 06 (ML-DSA-44), which cosigns whatever it is given. */
export class ForgedWitness {
  readonly name: string
  readonly vkey: string
  readonly #type: number
  readonly #keyId: Uint8Array
  readonly #sign: (bytes: Uint8Array) => Uint8Array

  constructor(name: string, fill: number, type: 4 | 6 = 4) {
    const seed = new Uint8Array(32).fill(fill)
    const signer = type === 4 ? createNoteSigner(name, seed) : mlDsaSigner(seed)
    const typed = concatBytes(Uint8Array.of(type), signer.publicKey)
    this.name = name
    this.#type = type
    this.#keyId = sha256Of(encodeUtf8(`${name}\n`), typed).subarray(0, 4)
    this.#sign = (bytes) => signer.sign(bytes)
    this.vkey = `${name}+${toHex(this.#keyId)}+${toBase64(typed)}`
  }

  /** As a policy names it. */
  get pinned() {
    return { name: this.name, vkey: this.vkey }
  }

  /** The signature line over the text of a note, without line feed. */
  cosign(note: string, seconds = 1_700_000_000): string {
    const text = note.slice(0, note.indexOf('\n\n') + 1)
    const message =
      this.#type === 4 ? encodeUtf8(`cosignature/v1\ntime ${seconds}\n${text}`) : this.#subtree(text, seconds)
    return `— ${this.name} ${toBase64(concatBytes(this.#keyId, u64(seconds), this.#sign(message)))}`
  }

  /** `cosigned_message` of C2SP tlog-cosignature, written with a `DataView`. */
  #subtree(text: string, seconds: number): Uint8Array {
    const [origin = '', size = '', root = ''] = text.split('\n')
    const message = Buffer.alloc(70 + this.name.length + origin.length)
    const view = new DataView(message.buffer, message.byteOffset)
    const afterName = 13 + this.name.length
    const afterOrigin = afterName + 9 + origin.length
    message.write('subtree/v1\n', 0)
    view.setUint8(12, this.name.length)
    message.write(this.name, 13)
    view.setBigUint64(afterName, BigInt(seconds))
    view.setUint8(afterName + 8, origin.length)
    message.write(origin, afterName + 9)
    view.setBigUint64(afterOrigin + 8, BigInt(size))
    message.write(root, afterOrigin + 16, 'base64')
    return message
  }
}

function mlDsaSigner(seed: Uint8Array) {
  const { publicKey, secretKey } = ml_dsa44.keygen(seed)
  return { publicKey, sign: (bytes: Uint8Array): Uint8Array => ml_dsa44.sign(bytes, secretKey) }
}

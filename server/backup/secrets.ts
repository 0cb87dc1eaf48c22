import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { parseStrictJson, RegistryError } from '../../core/index.ts'

/**
 * Secret files under a passphrase: scrypt (RFC 7914) makes the key, AES-256-GCM (NIST SP 800-38D) encrypts and
 * authenticates. A file is two lines: the parameters as JSON, which are authenticated too, and the ciphertext in
 * base64.
 */
interface Parameters {
  readonly format: 1
  readonly kdf: 'scrypt'
  readonly N: number
  readonly r: number
  readonly p: number
  /** Base64. */
  readonly salt: string
  readonly cipher: 'aes-256-gcm'
  /** Base64. */
  readonly iv: string
}

/** 128 MiB and about half a second for each guess. */
const COST = { N: 2 ** 17, r: 8, p: 1 } as const
/** A damaged or foreign file must not make a command use all memory or time. */
const MAX_COST = { N: 2 ** 20, r: 16, p: 4 } as const
const MAX_MEMORY_BYTES = 512 * 1024 * 1024
const [KEY_BYTES, SALT_BYTES, IV_BYTES, TAG_BYTES] = [32, 16, 12, 16]

/** Secret files by their paths in the data directory. */
export type SecretFiles = ReadonlyMap<string, Uint8Array>

export async function sealSecrets(files: SecretFiles, passphrase: string): Promise<Uint8Array> {
  const salt = randomBytes(SALT_BYTES)
  const iv = randomBytes(IV_BYTES)
  const parameters: Parameters = {
    format: 1,
    kdf: 'scrypt',
    ...COST,
    salt: salt.toString('base64'),
    cipher: 'aes-256-gcm',
    iv: iv.toString('base64'),
  }
  const head = JSON.stringify(parameters)
  const cipher = createCipheriv('aes-256-gcm', await keyOf(passphrase, salt, COST), iv).setAAD(Buffer.from(head))
  const plain = JSON.stringify(Object.fromEntries([...files].map(([path, bytes]) => [path, base64Of(bytes)])))
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return Buffer.from(`${head}\n${sealed.toString('base64')}\n`)
}

/**
 * The inverse of `sealSecrets`.
 *
 * @throws RegistryError `CONFIG_ERROR` if the passphrase is wrong, `CORRUPT` if the file is not one of `sealSecrets`
 */
export async function openSecrets(bytes: Uint8Array, passphrase: string): Promise<SecretFiles> {
  const [head = '', body = ''] = Buffer.from(bytes).toString('utf8').split('\n')
  const { salt, iv, ...cost } = parseParameters(head)
  const sealed = Buffer.from(body, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', await keyOf(passphrase, salt, cost), iv).setAAD(Buffer.from(head))
  try {
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
    const plain = Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()])
    const files: Readonly<Record<string, string>> = JSON.parse(plain.toString('utf8'))
    return new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text, 'base64')]))
  } catch {
    // Without the cause: it says nothing about which of the two it is.
    throw new RegistryError('CONFIG_ERROR', 'The passphrase is not the one of these secrets')
  }
}

type Cost = Pick<Parameters, 'N' | 'r' | 'p'>

function parseParameters(head: string): Cost & { readonly salt: Buffer; readonly iv: Buffer } {
  const { format, kdf, cipher, N, r, p, salt, iv } = membersOf(head)
  if (format !== 1 || kdf !== 'scrypt' || cipher !== 'aes-256-gcm') throw damagedError()
  const cost = { N: upTo(MAX_COST.N, N), r: upTo(MAX_COST.r, r), p: upTo(MAX_COST.p, p) }
  if (cost.N < 2 || !Number.isInteger(Math.log2(cost.N)) || memoryOf(cost) > MAX_MEMORY_BYTES) throw damagedError()
  return { ...cost, salt: bytesOf(SALT_BYTES, salt), iv: bytesOf(IV_BYTES, iv) }
}

const damagedError = (): RegistryError =>
  new RegistryError('CORRUPT', 'The secrets of the backup are damaged: use another backup')

/** The members of a JSON object. Of any other text it has none. */
function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return { ...(parseStrictJson(text) as object) }
  } catch {
    throw damagedError()
  }
}

function upTo(max: number, value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= max) return value
  throw damagedError()
}

function bytesOf(length: number, base64: unknown): Buffer {
  const bytes = typeof base64 === 'string' ? Buffer.from(base64, 'base64') : undefined
  if (bytes?.length !== length) throw damagedError()
  return bytes
}

/** What scrypt compares with its limit: the array V of RFC 7914 § 5, two more rows of it, and the blocks. */
const memoryOf = ({ N, r, p }: Cost): number => 128 * r * (N + 2 + p)

const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const keyOf = (passphrase: string, salt: Uint8Array, cost: Cost): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { ...cost, maxmem: MAX_MEMORY_BYTES }
    // NFKC: the same passphrase may be typed in different forms (RFC 8265 uses NFC; NFKC also folds full width).
    scrypt(passphrase.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })

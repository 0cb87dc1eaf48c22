import { createCipheriv, createDecipheriv, randomBytes, scrypt, type ScryptOptions } from 'node:crypto'
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
/** A damaged or foreign file must not make a command use all memory. */
const MAX_COST = { N: 2 ** 20, r: 16, p: 4 } as const
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

function parseParameters(head: string): Pick<Parameters, 'N' | 'r' | 'p'> & { salt: Buffer; iv: Buffer } {
  const damaged = new RegistryError('CORRUPT', 'The secrets of the backup are damaged: use another backup')
  let value: Partial<Parameters>
  try {
    value = parseStrictJson(head) as Partial<Parameters>
  } catch {
    throw damaged
  }
  const { format, kdf, cipher, N = 0, r = 0, p = 0, salt = '', iv = '' } = value
  const isKnown = format === 1 && kdf === 'scrypt' && cipher === 'aes-256-gcm'
  if (!isKnown || N > MAX_COST.N || r > MAX_COST.r || p > MAX_COST.p) throw damaged
  return { N, r, p, salt: Buffer.from(salt, 'base64'), iv: Buffer.from(iv, 'base64') }
}

const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const keyOf = (passphrase: string, salt: Uint8Array, { N, r, p }: ScryptOptions): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { N: N ?? 0, r: r ?? 0, p: p ?? 0, maxmem: 512 * 1024 * 1024 }
    // NFKC: the same passphrase may be typed in different forms (RFC 8265 uses NFC; NFKC also folds full width).
    scrypt(passphrase.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })

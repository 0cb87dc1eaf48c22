import Type from '#typebox'
import { readShape } from '../../core/schemas/index.ts'
import { configError } from '../settings/config-error.ts'

/** Secret files by their paths in the data directory. */
export type SecretFiles = ReadonlyMap<string, Uint8Array>

/** The base64 of each file by its path. */
const Contents = Type.Record(Type.String(), Type.String())

/** Encrypts files with a passphrase, in the format of age (age-encryption.org/v1), which `age --decrypt` reads, too. */
export function sealSecrets(files: SecretFiles, passphrase: string): Promise<Uint8Array> {
  const contents = Object.fromEntries([...files].map(([path, bytes]) => [path, Buffer.from(bytes).toString('base64')]))
  return inThread('encrypt', Buffer.from(JSON.stringify(contents)), passphrase)
}

/**
 * The inverse of `sealSecrets`. Requires that the bytes are those that it returned: the manifest of the backup tells.
 *
 * @throws RegistryError `CONFIG_ERROR` if the passphrase is wrong
 */
export async function openSecrets(bytes: Uint8Array, passphrase: string): Promise<SecretFiles> {
  const plain = await inThread('decrypt', bytes, passphrase).catch(() => undefined)
  const contents = plain && readShape(Contents, new TextDecoder().decode(plain))
  if (contents !== undefined)
    return new Map(Object.entries(contents).map(([path, text]) => [path, Buffer.from(text, 'base64')]))
  // Without a cause: it does not tell a wrong passphrase from other bytes.
  throw configError('The passphrase is not the one of these secrets')
}

/** Requests of a server wait while JavaScript computes, so the library runs in a thread. */
async function inThread(name: 'encrypt' | 'decrypt', bytes: Uint8Array, passphrase: string): Promise<Uint8Array> {
  const { Piscina } = await import('piscina')
  const { href } = new URL('./age-worker.js', import.meta.url)
  const filename = import.meta.url.endsWith('.ts') ? href.replace(/\.js$/, '.ts') : href
  const pool = new Piscina({ filename, name, maxThreads: 1 })
  // Of a worker that cannot load its module: `run` would wait for ever.
  const failed = new Promise<never>((_, reject) => pool.once('error', reject))
  try {
    // NFKC: the same passphrase may be typed in different forms (RFC 8265 uses NFC; NFKC also folds full width).
    return await Promise.race([pool.run({ bytes, passphrase: passphrase.normalize('NFKC') }), failed])
  } finally {
    await pool.destroy()
  }
}

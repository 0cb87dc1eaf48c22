import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { decodeUtf8, encodeUtf8, RegistryError } from '../kit/index.ts'
import { createFile, discardStaged, makeDirectory, type FileOperations } from '../files/durable.ts'
import { ifExists } from '../files/errors.ts'
import { authorityName, certificateToPem, isKeyOf, issueAuthority, issueSigner } from './certificates.ts'
import type { Signer } from './response.ts'

/** Who stamps: the signer, and the certificate of the CA that issued it. */
export interface Identity {
  readonly signer: Signer
  /** DER of the CA's certificate. */
  readonly trustAnchor: Uint8Array
}

/**
 * Reads the authority's files, or creates them at the first start: `ca.key` (0600), `ca.pem`, and `tsa.pem` (0600),
 * which holds the signer's key and certificate. They are created in this order, each whole and durable before the next,
 * and nothing is stamped before all three exist. If a first start is interrupted, the next start completes it. Without
 * `tsa.pem` there is a new signer of the same CA.
 *
 * Throws `CONFIG_ERROR` if the CA's key or certificate is missing, `CORRUPT` if a file is
 * damaged or the files do not belong together, and errors of the file system.
 */
export async function openIdentity(files: FileOperations, directory: string): Promise<Identity> {
  await makeDirectory(files, directory)
  await discardStaged(files, directory)
  const keyPath = join(directory, 'ca.key')
  const certificatePath = join(directory, 'ca.pem')
  const signerPath = join(directory, 'tsa.pem')
  // Read first: another process may create all three files at the same time, this one last.
  const hasSigner = (await readText(files, signerPath)) !== undefined
  const hasCertificate = (await readText(files, certificatePath)) !== undefined
  if (hasSigner && !hasCertificate) throw missingFile(certificatePath, signerPath)
  if (hasCertificate && (await readText(files, keyPath)) === undefined) throw missingFile(keyPath, certificatePath)
  const key = readKey(keyPath, await readOrCreate(files, keyPath, () => pemOf(newKey())))
  const pem = await readOrCreate(files, certificatePath, () => certificateToPem(issueAuthority(key)))
  const certificate = readCertificate(certificatePath, pem)
  if (!isKeyOf(certificate, key) || !certificate.verify(certificate.publicKey))
    throw corrupt(`${keyPath} or ${certificatePath} is damaged, or they are not a pair: restore both from one backup`)
  const signerPem = await readOrCreate(files, signerPath, () => newSignerPem(key))
  const signer = { ...readSigner(signerPath, signerPem, certificate), issuerName: authorityName(key) }
  return { signer, trustAnchor: new Uint8Array(certificate.raw) }
}

const corrupt = (message: string, cause?: unknown): RegistryError => new RegistryError('CORRUPT', message, { cause })

const missingFile = (missing: string, present: string): RegistryError =>
  new RegistryError(
    'CONFIG_ERROR',
    `${missing} is missing, but ${present} exists: restore it from a backup, or move the directory away to create a ` +
      'new authority',
  )

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

function newSignerPem(authorityKey: KeyObject): string {
  const key = newKey()
  return pemOf(key) + certificateToPem(issueSigner(authorityKey, createPublicKey(key)))
}

function readSigner(path: string, pem: string, authority: X509Certificate): Omit<Signer, 'issuerName'> {
  const key = readKey(path, pem)
  const certificate = readCertificate(path, pem)
  if (!isKeyOf(certificate, key) || !certificate.verify(authority.publicKey))
    throw corrupt(
      `${path} must contain a key and its certificate, issued by ca.pem: restore it, or remove it to get new ones`,
    )
  const serialNumber = new Uint8Array(Buffer.from(certificate.serialNumber, 'hex'))
  return { key, certificate: new Uint8Array(certificate.raw), serialNumber }
}

function readKey(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    // Without the cause, which may contain key material.
    throw corrupt(`${path} contains no readable private key: restore it from a backup`)
  }
}

function readCertificate(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch (cause) {
    throw corrupt(`${path} contains no readable certificate: restore it from a backup`, cause)
  }
}

async function readText(files: FileOperations, path: string): Promise<string | undefined> {
  const bytes = await ifExists(files.readFile(path))
  return bytes && decodeUtf8(bytes)
}

/** Reads a file, or creates it durably with the text of `make`. Processes that race all return the same text. */
async function readOrCreate(files: FileOperations, path: string, make: () => string): Promise<string> {
  const existing = await readText(files, path)
  if (existing !== undefined) return existing
  const made = make()
  if (await createFile(files, path, encodeUtf8(made))) return made
  return (await readText(files, path)) ?? made
}

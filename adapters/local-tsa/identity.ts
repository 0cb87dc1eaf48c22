import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { decodeUtf8, encodeUtf8, RegistryError } from '../kit/index.ts'
import { createFile, discardStaged, makeDirectory, replaceFile, type FileOperations } from '../files/durable.ts'
import { errnoOf } from '../files/errors.ts'
import { authorityName, certificateToPem, issueAuthority, issueSigner, RENEWAL_MS } from './certificates.ts'
import type { Signer } from './response.ts'

/**
 * The authority's files: `ca.key` (0600), `ca.pem`, and `tsa.pem` (0600), which holds the signer's key and certificate
 * together, so that a renewal replaces both at once. They are created in this order, each whole and durable before the
 * next, and nothing is stamped before all three exist. If a first start is interrupted, the next start completes it.
 */

export interface Authority {
  readonly key: KeyObject
  readonly certificate: X509Certificate
  /** ms since 1970. */
  readonly notBefore: number
  /** ms since 1970. */
  readonly notAfter: number
}

export interface CurrentSigner extends Signer {
  /** ms since 1970. */
  readonly notBefore: number
  readonly notAfter: number
}

/**
 * Reads the CA, or creates it at the first start. `now` is in ms since 1970. Throws `CONFIG_ERROR` if the key
 * or the certificate is missing, `CORRUPT` if a file is damaged or the files do not belong together.
 */
export async function openAuthority(files: FileOperations, directory: string, now: number): Promise<Authority> {
  await makeDirectory(files, directory)
  await discardStaged(files, directory)
  const keyPath = join(directory, 'ca.key')
  const certificatePath = join(directory, 'ca.pem')
  const signerPath = join(directory, 'tsa.pem')
  // Read first: another process may create all three files at the same time, this one last.
  const hasSigner = (await readText(files, signerPath)) !== undefined
  const oldCertificate = await readText(files, certificatePath)
  if (oldCertificate === undefined && hasSigner)
    throw new RegistryError(
      'CONFIG_ERROR',
      `${certificatePath} is missing, but ${signerPath} exists: restore the certificate from a backup`,
    )
  if (oldCertificate !== undefined && (await readText(files, keyPath)) === undefined)
    throw new RegistryError(
      'CONFIG_ERROR',
      `${keyPath} is missing, but ${certificatePath} exists: restore the key from a backup, or move the directory away to create a new authority`,
    )
  const key = readKey(keyPath, await readOrCreate(files, keyPath, () => newKeyPem()))
  const pem = await readOrCreate(files, certificatePath, () => certificateToPem(issueAuthority(key, now)))
  const certificate = readCertificate(certificatePath, pem)
  if (!certificate.checkPrivateKey(key) || !certificate.verify(certificate.publicKey))
    throw new RegistryError(
      'CORRUPT',
      `${certificatePath} is damaged, or not the certificate of ${keyPath}: restore both from one backup`,
    )
  return { key, certificate, ...validity(certificate) }
}

/** Reads the signer. Creates it if there is none, and replaces one that expires within a year. */
export async function openSigner(
  files: FileOperations,
  directory: string,
  { authority, now }: { readonly authority: Authority; readonly now: number },
): Promise<CurrentSigner> {
  const path = join(directory, 'tsa.pem')
  const signer = readSigner(path, await readOrCreate(files, path, () => newSignerPem(authority, now)), authority)
  if (!needsRenewal(signer, authority, now)) return signer
  const renewed = newSignerPem(authority, now)
  await replaceFile(files, path, encodeUtf8(renewed))
  return readSigner(path, renewed, authority)
}

/**
 * True in the certificate's last year, unless the CA expires as soon, and before its first day, if the clock was ahead
 * when it was issued. Never true while the CA itself is not valid, because a new certificate would not be valid either.
 */
export function needsRenewal(signer: CurrentSigner, authority: Authority, now: number): boolean {
  if (now < authority.notBefore || now > authority.notAfter) return false
  return now < signer.notBefore || (signer.notAfter - now < RENEWAL_MS && signer.notAfter < authority.notAfter)
}

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

const newKeyPem = (key = newKey()): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

function newSignerPem(authority: Authority, now: number): string {
  const key = newKey()
  const der = issueSigner(authority, createPublicKey(key), now)
  return newKeyPem(key) + certificateToPem(der)
}

function readSigner(path: string, pem: string, authority: Authority): CurrentSigner {
  const key = readKey(path, pem)
  const certificate = readCertificate(path, pem)
  if (!certificate.checkPrivateKey(key) || !certificate.verify(authority.certificate.publicKey))
    throw new RegistryError(
      'CORRUPT',
      `${path} must contain a key and its certificate, issued by ca.pem: restore it, or remove it to get new ones`,
    )
  return {
    key,
    certificate: new Uint8Array(certificate.raw),
    issuerName: authorityName(authority.key),
    serialNumber: new Uint8Array(Buffer.from(certificate.serialNumber, 'hex')),
    ...validity(certificate),
  }
}

const validity = ({
  validFrom,
  validTo,
}: X509Certificate): { readonly notBefore: number; readonly notAfter: number } => ({
  notBefore: Date.parse(validFrom),
  notAfter: Date.parse(validTo),
})

function readKey(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    // Without the cause, which may contain key material.
    throw new RegistryError('CORRUPT', `${path} contains no readable private key: restore it from a backup`)
  }
}

function readCertificate(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch (cause) {
    throw new RegistryError('CORRUPT', `${path} contains no readable certificate: restore it from a backup`, { cause })
  }
}

async function readText(files: FileOperations, path: string): Promise<string | undefined> {
  try {
    return decodeUtf8(await files.readFile(path))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Reads a file, or creates it durably with the text of `make`. Processes that race all return the same text. */
async function readOrCreate(files: FileOperations, path: string, make: () => string): Promise<string> {
  const existing = await readText(files, path)
  if (existing !== undefined) return existing
  const made = make()
  if (await createFile(files, path, encodeUtf8(made))) return made
  return (await readText(files, path)) ?? made
}

import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readTrustAnchors } from '../../adapters/rfc3161/index.ts'
import { RegistryError, type SignedHead } from '../../core/index.ts'
import {
  publicKeyHash,
  type AnchorToVerify,
  type AttestationVerifier,
  type TokenToVerify,
} from '../../core/ops/index.ts'
import { verifyAnchorProof } from '../../core/verify/index.ts'
import { verifyTimestamp } from '../../core/verify/tokens.ts'
import type { Config } from '../settings/load.ts'
import { headsIn } from '../startup/signed-heads.ts'
import { mlDsa44Of } from '../startup/witnesses.ts'
import type { FolderCheck } from './fsck-files.ts'

/**
 * Verifies tokens and anchors for `fsck`: tokens with the CA of the embedded authority and those of EVIDENCE_TSA_CA,
 * anchors with their own proofs. Prints each authority whose CA is not known here once: its tokens are not verified.
 *
 * @param folders what was found in the folders of the local ledger and the embedded authority
 */
export async function createAttestationVerifier(
  config: Config,
  directory: string,
  { ledger, authority }: { readonly ledger: FolderCheck; readonly authority: FolderCheck },
): Promise<AttestationVerifier> {
  const certificates = await trustAnchorsOf(config, directory)
  const unknown = new Set<string>()
  const hasLedger = existsSync(join(directory, 'ledger', 'blocks.jsonl'))
  const [lastStamped] = authority.knownHeads
  return {
    verifyToken(token) {
      const trusted = certificates.filter(({ keyHash }) => token.trustAnchors.includes(keyHash))
      if (trusted.some(({ isOwn }) => isOwn)) assertNotAfter(lastStamped, token)
      if (trusted.length > 0)
        return verifyToken(
          token,
          trusted.map(({ der }) => der),
        )
      if (unknown.has(token.authority)) return
      unknown.add(token.authority)
      process.stderr.write(
        `The CA of ${token.authority} is not known here (EVIDENCE_TSA_CA): its tokens are not verified\n`,
      )
    },
    verifyAnchor,
    mlDsa44: await mlDsa44Of(config),
    ...(hasLedger && { localLedgerSize: ledger.knownHeads[0]?.size ?? 0 }),
  }
}

/** A CA certificate by which tokens are verified. */
interface TrustAnchor {
  readonly der: Uint8Array
  /** SHA-256 of the public key, hex. */
  readonly keyHash: string
  /** Of the embedded authority. */
  readonly isOwn: boolean
}

/** The CA of the embedded authority, if there is one, and those of the settings. */
async function trustAnchorsOf({ tsaCa }: Config, directory: string): Promise<readonly TrustAnchor[]> {
  const own = join(directory, 'tsa', 'ca.pem')
  const paths = [...(existsSync(own) ? [own] : []), ...tsaCa]
  const lists = await Promise.all(
    paths.map(async (path) => (await readTrustAnchors(path)).map((der) => ({ der, isOwn: path === own }))),
  )
  return lists.flat().map((anchor) => ({ ...anchor, keyHash: publicKeyHash(new X509Certificate(anchor.der)) }))
}

/** The embedded authority keeps each stamp before the records do. So if they have a newer one, it was set back. */
function assertNotAfter(lastStamped: SignedHead | undefined, { stamped }: TokenToVerify): void {
  if (lastStamped === undefined) return
  const isKept = headsIn(stamped).every(({ size }) => size <= lastStamped.size)
  expect(isKept, `it is newer than the last stamp of the embedded authority, which is of ${lastStamped.size} entries`)
}

/** What the record says about a token must be what the token says. */
function verifyToken(token: TokenToVerify, trustAnchors: readonly Uint8Array[]): void {
  const { response, stamped, validationData } = token
  const verified = verifyTimestamp(response, { data: stamped, trustAnchors, validationData })
  expect(verified.genTime === token.genTime, 'the token has another time')
  expect(verified.serialNumber === token.serialNumber, 'the token has another serial number')
  expect(verified.policy === token.policy, 'the token has another policy')
}

/** What the record says about an anchor must be what its proof says. */
function verifyAnchor({ info, ref: txHash, proof, checkpoint, ...block }: AnchorToVerify): void {
  const { account = '' } = info
  const shown = { ...info, ...block, txHash, proof: Buffer.from(proof).toString('utf8') }
  const proven = verifyAnchorProof(shown, { ...info, account }, checkpoint)
  // A kind of chain that is not known here, or the node had no proof to give.
  if (typeof proven === 'string') return
  expect(proven.blockTime === block.blockTime, 'the proof is of another block')
}

/** Throws `VERIFICATION_FAILED` unless it holds. */
function expect(holds: boolean, message: string): void {
  if (!holds) throw new RegistryError('VERIFICATION_FAILED', message, { rule: 'record.differs' })
}

import { createHash, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { verifyEvmAnchor } from '../../adapters/evm/index.ts'
import { verifyLedgerBlock } from '../../adapters/local-ledger/index.ts'
import { readTrustAnchors } from '../../adapters/rfc3161/index.ts'
import {
  RegistryError,
  type AnchorToVerify,
  type AttestationVerifier,
  type SignedHead,
  type TokenToVerify,
} from '../../core/index.ts'
import { verifyTimestamp } from '../../core/verify/tokens.ts'
import type { Config } from '../settings/load.ts'
import { exists } from './existing.ts'

interface AttestationOptions {
  /** The newest tree in the local ledger, as a list of at most one. */
  readonly ledgerHeads: readonly SignedHead[]
  /** Called once for each authority whose CA is not known here. Its tokens are not verified. */
  readonly onUnknown: (authority: string) => void
}

/**
 * Verifies tokens and anchors for `fsck`: tokens with the CA of the embedded authority and those of EVIDENCE_TSA_CA,
 * anchors with their own proofs.
 */
export async function createAttestationVerifier(
  config: Config,
  directory: string,
  { ledgerHeads, onUnknown }: AttestationOptions,
): Promise<AttestationVerifier> {
  const certificates = await trustAnchorsOf(config, directory)
  const unknown = new Set<string>()
  const hasLedger = await exists(join(directory, 'ledger', 'blocks.jsonl'))
  return {
    verifyToken(token) {
      const trusted = certificates.filter(({ keyHash }) => token.trustAnchors.includes(keyHash))
      if (trusted.length > 0)
        return verifyToken(
          token,
          trusted.map(({ der }) => der),
        )
      if (unknown.has(token.authority)) return
      unknown.add(token.authority)
      onUnknown(token.authority)
    },
    verifyAnchor,
    ...(hasLedger && { localLedgerSize: ledgerHeads[0]?.size ?? 0 }),
  }
}

interface TrustAnchor {
  readonly der: Uint8Array
  /** SHA-256 of the public key, hex. */
  readonly keyHash: string
}

async function trustAnchorsOf({ tsaCa }: Config, directory: string): Promise<readonly TrustAnchor[]> {
  const own = join(directory, 'tsa', 'ca.pem')
  const paths = [...((await exists(own)) ? [own] : []), ...tsaCa]
  const lists = await Promise.all(paths.map((path) => readTrustAnchors(path)))
  return lists.flat().map((der) => ({ der, keyHash: keyHashOf(der) }))
}

function keyHashOf(der: Uint8Array): string {
  const key = new X509Certificate(der).publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(key).digest('hex')
}

function verifyToken(token: TokenToVerify, trustAnchors: readonly Uint8Array[]): void {
  const { response, stamped, validationData } = token
  const verified = verifyTimestamp(response, { data: stamped, trustAnchors, validationData })
  expect(verified.genTime === token.genTime, 'the token has another time')
  expect(verified.serialNumber === token.serialNumber, 'the token has another serial number')
  expect(verified.policy === token.policy, 'the token has another policy')
}

function verifyAnchor(anchor: AnchorToVerify): void {
  const { info, proof, ref: txHash, blockHash, checkpoint } = anchor
  if (info.type === 'local') {
    // Version 0.1.0 did not store the ledger's key in its anchors.
    if (info.account !== undefined) verifyLedgerAnchor(anchor, info.account)
    return
  }
  if (info.type !== 'evm' || isWithoutInclusion(proof)) return
  const { account = '', chainId } = info
  const { blockNumber } = verifyEvmAnchor(proof, { chainId, account, checkpoint, txHash, blockHash })
  expect(blockNumber === anchor.blockNumber, 'the proof has another block number')
}

/** The node had no proof to give, so the transaction alone is stored. */
function isWithoutInclusion(proof: Uint8Array): boolean {
  const value: unknown = JSON.parse(Buffer.from(proof).toString('utf8'))
  return typeof value === 'object' && value !== null && 'inclusion' in value && value.inclusion === null
}

function verifyLedgerAnchor(
  { proof, ref, blockHash, blockNumber, blockTime, checkpoint }: AnchorToVerify,
  ledgerKey: string,
): void {
  const block = verifyLedgerBlock(proof, ed25519Key(ledgerKey))
  const isSame = block.hash === blockHash && block.height === blockNumber && block.time === blockTime
  expect(isSame, 'the proof is of another block')
  const transaction = block.transactions.find(({ hash }) => hash === ref)
  expect(transaction !== undefined, 'the block does not hold the transaction')
  expect(Buffer.from(checkpoint).equals(transaction?.input ?? new Uint8Array()), 'the transaction holds something else')
}

/** The bytes before the 32 bytes of an Ed25519 public key in SubjectPublicKeyInfo (RFC 8410 § 4). */
const PUBLIC_KEY_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

const ed25519Key = (hex: string): KeyObject =>
  createPublicKey({ key: Buffer.concat([PUBLIC_KEY_PREFIX, Buffer.from(hex, 'hex')]), format: 'der', type: 'spki' })

function expect(holds: boolean, message: string): void {
  if (!holds) throw new RegistryError('VERIFICATION_FAILED', message)
}

import { DAY_MS, httpUrls, integer, oneOf, optional, path, setting, text, type Accepted } from '../setting.ts'

const confirmations: Accepted<number | 'finalized'> = {
  accepts: 'an integer from 1 to 100000, or finalized',
  parse: (value) => (value === 'finalized' ? value : integer(1, 100_000).parse(value)),
}

const gwei: Accepted<number> = {
  accepts: 'a number above 0 with up to 9 decimals',
  parse: (value) => (/^\d{1,6}(\.\d{1,9})?$/.test(value) && Number(value) > 0 ? Number(value) : undefined),
}

export const anchors = {
  anchor: setting(oneOf('local', 'evm', 'none'), {
    fallback: 'local',
    doc: 'Where checkpoints are anchored: the local ledger (for one server, not for shared records), an EVM chain, or nowhere',
  }),
  anchorIntervalMs: optional(integer(0, DAY_MS), {
    shownFallback: '0, on an EVM chain 600000',
    doc: 'Time between anchors. 0 anchors the newest batch as soon as the previous anchor is confirmed',
  }),
  evmRpcUrl: optional(httpUrls, {
    secret: true,
    doc: 'JSON-RPC addresses of nodes of the EVM chain, best of different operators. A node that fails is skipped',
  }),
  evmChainId: optional(integer(1, 2 ** 48), {
    doc: 'Id of the EVM chain. A node of another chain is not used',
  }),
  evmPrivateKey: optional(text('64 hex digits', /^(0x)?[0-9a-fA-F]{64}$/), {
    secret: true,
    doc: 'Private key of the account that signs and pays. Use this account for nothing else',
  }),
  evmKeystore: optional(path, {
    doc: 'Keystore file of that account (Web3 Secret Storage, version 3), instead of the private key',
  }),
  evmKeystorePassword: optional(text('1 to 1,024 characters', /^[^\0]{1,1024}$/u), {
    secret: true,
    doc: 'Password of the keystore file',
  }),
  evmConfirmations: setting(confirmations, {
    fallback: 12,
    doc: 'An anchor is confirmed once this many blocks (including its own) are on top, or once its block is finalized',
  }),
  evmAcceptNoncesBelow: optional(integer(0, 2 ** 48), {
    doc: 'Confirms that others have sent transactions from the account with nonces below this one. Without it, such a transaction stops anchoring',
  }),
  evmMaxFeeGwei: setting(gwei, { fallback: 100, doc: 'Highest fee per gas, including the tip' }),
} as const

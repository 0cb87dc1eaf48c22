import type { LogPolicy } from '../schemas/bundle.ts'
import { toBase64 } from '../bytes.ts'
import type { LogIdentity } from '../log/identity.ts'
import type { SealerTrust } from '../ports/index.ts'

/** What a verifier pins: `GET /log/policy`. In a bundle it is the registry's own word. */
export function logPolicy({ origin, keys }: Pick<LogIdentity, 'origin' | 'keys'>, trust: SealerTrust): LogPolicy {
  const { quorum, authorities, chain } = trust
  return {
    origin,
    keys: keys.map(({ verifierKey, position }, i) => ({
      vkey: verifierKey,
      from: position + 1,
      until: keys[i + 1]?.position ?? null,
    })),
    witnesses: [],
    groups: [],
    quorum: 'none',
    timestampAuthorities: authorities.map(({ name, trustAnchors }) => ({
      name,
      trustAnchors: trustAnchors.map(pemOf),
    })),
    timestampQuorum: Math.max(1, quorum),
    chains:
      chain?.account === undefined
        ? []
        : [{ type: chain.type, network: chain.network, chainId: chain.chainId, account: chain.account }],
  }
}

/** The same keys and witnesses as C2SP tlog-policy text. */
export const logPolicyText = ({ keys, witnesses, groups, quorum }: LogPolicy): string =>
  [
    ...keys.map(({ vkey }) => `log ${vkey}`),
    ...witnesses.map(({ name, vkey, url }) => ['witness', name, vkey, ...(url === undefined ? [] : [url])].join(' ')),
    ...groups.map(({ name, threshold, members }) => ['group', name, threshold, ...members].join(' ')),
    `quorum ${quorum}`,
    '',
  ].join('\n')

function pemOf(der: Uint8Array): string {
  const lines = toBase64(der).match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

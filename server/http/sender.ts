import type { Context } from 'koa'
import type { Scope } from '../../core/index.ts'
import { clientNetwork } from './client-network.ts'

/** Who sends a request: a company by a valid key, or a network address without one. */
export interface Sender {
  readonly name: string
  readonly hasKey: boolean
  /** People who do not know each other, such as those who have links of a company. */
  readonly isCrowd?: boolean
}

/** All who open a link. Else, one that shows a long history could take the turns of many addresses. */
export const holdersOf = (shareId: string): Sender => ({ name: `link ${shareId}`, hasKey: false, isCrowd: true })

/** The scope of a request without a key. */
export const ANONYMOUS: Scope = { companyId: '', principal: { kind: 'anonymous' } }

/**
 * The company of a valid key, the operator, a company's file tokens, or the network of an address. Tokens are apart
 * from the keys, so that who has a link of a company takes no place from its own requests.
 */
export function senderOf(ctx: Context, { companyId, principal }: Scope): Sender {
  if (principal.kind === 'sourceSystem') return { name: `company ${companyId}`, hasKey: true }
  if (principal.kind === 'fileToken') return { name: `tokens of ${companyId}`, hasKey: false, isCrowd: true }
  if (principal.kind === 'operator') return { name: 'operator', hasKey: true }
  return { name: `address ${clientNetwork(ctx.ip)}`, hasKey: false }
}

import { RegistryError } from '../errors.ts'

/** Permission levels, each including those before it: R reads, I also creates, U also updates, A also keeps source systems. */
const LEVELS = ['R', 'I', 'U', 'A'] as const
export type PermissionLevel = (typeof LEVELS)[number]

/** Who asks. The operator acts as A in every company and is no source system. */
export type Principal =
  | { readonly kind: 'operator' }
  | { readonly kind: 'sourceSystem'; readonly id: string; readonly permissions: PermissionLevel }

/** The operator as a principal: for programs that embed the registry and answer for themselves. */
export const OPERATOR: Principal = { kind: 'operator' }

export const levelOf = (principal: Principal): PermissionLevel =>
  principal.kind === 'operator' ? 'A' : principal.permissions

/** Whether `level` includes `needed`. */
export const includes = (level: PermissionLevel, needed: PermissionLevel): boolean =>
  LEVELS.indexOf(level) >= LEVELS.indexOf(needed)

/** Throws `FORBIDDEN` where the principal's level does not include `needed`. */
export function assertAllowed(principal: Principal, needed: PermissionLevel): void {
  if (!includes(levelOf(principal), needed)) throw new RegistryError('FORBIDDEN', 'Forbidden resource')
}

/** The name under which events commit to who wrote them: the source system's id, or `operator`. */
export const actorOf = (principal: Principal): string => (principal.kind === 'operator' ? 'operator' : principal.id)

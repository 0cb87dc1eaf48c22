/**
 * Who vouches for a time or an anchor. `operator`: the embedded ledger and authority, which are the operator's own.
 * `independent`: chains and authorities that do not depend on the operator.
 */
export type Assurance = 'operator' | 'independent'

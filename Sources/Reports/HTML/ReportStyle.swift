/// The style sheet of all pages: light and dark, and paper.
package enum ReportStyle {
  /// The sheet, as CSS.
  package static let sheet: StaticString = """
    :root{color-scheme:light dark;--ink:#1c2024;--paper:#fff;--soft:#f2f4f7;--edge:#c9ced6;--dim:#5b6470;
    --good:#136f3a;--bad:#b3261e;--rig:#7a3e9d;--skip:#7a6400;--goodfill:#d7f0e0;--badfill:#fbdcd9;
    --rigfill:#ecdcf6;--skipfill:#f6edc8;--one:#2459a9;--two:#b05a00}
    @media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#14171b;--soft:#1f242b;--edge:#3d4550;
    --dim:#a3adba;--good:#79d69c;--bad:#ff9a91;--rig:#d5a8f2;--skip:#e3cf72;--goodfill:#173d27;
    --badfill:#53211d;--rigfill:#3d2550;--skipfill:#40380f;--one:#86b4ff;--two:#ffb268}}
    @media print{:root{color-scheme:light;--ink:#000;--paper:#fff;--soft:#f2f4f7;--edge:#999;--dim:#444;
    --good:#136f3a;--bad:#b3261e;--rig:#7a3e9d;--skip:#7a6400;--goodfill:#fff;--badfill:#fff;
    --rigfill:#fff;--skipfill:#fff;--one:#2459a9;--two:#b05a00}
    details::details-content{content-visibility:visible;block-size:auto}
    tr,figure,article{break-inside:avoid}}
    *{box-sizing:border-box}
    body{margin:0 auto;max-width:76rem;padding:1rem 1.2rem 3rem;background:var(--paper);color:var(--ink);
    font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
    h1{font-size:1.4rem;margin:.4rem 0}h2{font-size:1.15rem;margin:2rem 0 .6rem}h3{font-size:1rem;margin:.6rem 0}
    .verdict{border-left:.5rem solid var(--dim);padding:.5rem 1rem;background:var(--soft)}
    .verdict:has(h1 .passed){border-color:var(--good)}.verdict:has(h1 .failed){border-color:var(--bad)}
    code,pre,.identifier,.wire text{font-family:ui-monospace,monospace;font-size:.9em}
    table{border-collapse:collapse;width:100%}
    th,td{border-bottom:1px solid var(--edge);padding:.25rem .5rem;text-align:left;vertical-align:top}
    th{font-weight:600}td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}
    .passed{color:var(--good)}.failed{color:var(--bad)}.errored{color:var(--rig)}.skipped,.differs{color:var(--skip)}
    .better{color:var(--good)}.worse{color:var(--bad)}.same,.muted{color:var(--dim)}
    .matrix{display:grid;grid-template-columns:repeat(auto-fill,minmax(7.2rem,1fr));gap:.25rem;
    list-style:none;padding:0;margin:0}
    .matrix li{border:1px solid var(--edge);border-radius:.25rem;padding:.1rem .35rem;font-size:.82rem;
    white-space:nowrap;color:var(--ink)}
    .matrix .passed{background:var(--goodfill)}.matrix .failed{background:var(--badfill);font-weight:700}
    .matrix .errored{background:var(--rigfill);font-weight:700}.matrix .skipped,.matrix .differs{background:var(--skipfill)}
    .matrix a{color:inherit}
    article{border:1px solid var(--edge);border-radius:.3rem;padding:.2rem 1rem 1rem;margin:1rem 0}
    .finding{border-left:.25rem solid var(--bad);padding-left:.7rem;margin:.4rem 0;white-space:pre-wrap}
    .rule{border-left:.25rem solid var(--edge);padding-left:.7rem;color:var(--dim)}
    .facts{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0}
    .facts dt{color:var(--dim)}.facts dd{margin:0}
    figure{margin:.8rem 0;overflow-x:auto}figcaption{color:var(--dim);font-size:.9rem}
    svg{display:block;max-width:100%;height:auto;fill:var(--ink)}
    .wire{min-width:44rem}.wire text{font-size:12px}.lane{stroke:var(--edge)}
    .fromBench{stroke:var(--one);fill:var(--one)}.fromPeer{stroke:var(--two);fill:var(--two)}
    .wire .remark{fill:var(--bad)}
    .chart{min-width:40rem}.chart .lane{stroke-dasharray:3 4}
    .chart text{font-size:12px;fill:var(--dim)}.axis{stroke:var(--edge)}.bar{fill:var(--one)}
    .line1{stroke:var(--one);fill:none;stroke-width:1.5}.line2{stroke:var(--two);fill:none;stroke-width:1.5}
    summary{cursor:pointer;font-weight:600}
    """
}

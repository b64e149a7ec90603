/*
 * The status page: a table that asks /v2/models/stats once a second. Nothing comes from elsewhere,
 * and the browser is told so.
 */
#include <string.h>

#include "serve/protocol/page.h"

static const char page[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\"><head><meta charset=\"utf-8\"><title>nn-serve</title>\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<style>\n"
	"body{font:15px/1.5 system-ui,sans-serif;margin:2em;color:#222;background:#fff}\n"
	"table{border-collapse:collapse}td,th{padding:.3em .9em;text-align:right;"
	"border-bottom:1px solid #ddd}\n"
	"td:first-child,th:first-child,td.why{text-align:left}td.why{color:#666}\n"
	"#state{color:#666}\n"
	"@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}"
	"td,th{border-color:#333}td.why,#state{color:#999}}\n"
	/* on a phone a model is a list: the heading of each figure stands before it */
	"@media(max-width:50em){body{margin:1em}thead{display:none}"
	"tr{display:block;padding:.5em 0;border-bottom:1px solid #8888}"
	"td{display:flex;justify-content:space-between;border:0;padding:.1em 0}"
	"td:empty{display:none}td::before{content:attr(data-of);color:#888}"
	"td.why{display:block;text-align:left}}\n"
	"</style></head><body>\n"
	"<h1>nn-serve</h1><p id=\"state\"></p>\n"
	"<table><thead><tr><th>model</th><th>version</th><th>requests/s</th><th>rows/s</th>"
	"<th>mean batch</th><th>in "
	"queue</th><th>computing</th><th>failed</th><th></th></tr></thead>"
	"<tbody></tbody></table>\n"
	"<noscript>The table needs a script; the same counts are at <a "
	"href=\"/metrics\">/metrics</a>."
	"</noscript>\n"
	"<script>\n"
	"'use strict';\n"
	"const body=document.querySelector('tbody'),state=document.getElementById('state');\n"
	"let before={},last=0;\n"
	"const time=ns=>ns<1e6?(ns/1e3).toFixed(0)+' \\u00b5s':ns<1e9?(ns/1e6).toFixed(1)+' ms':"
	"(ns/1e9).toFixed(2)+' s';\n"
	"async function get(path){const r=await fetch(path);if(!r.ok)throw new Error(path+': "
	"'+r.status);"
	"return r.json()}\n"
	"async function look(){\n"
	" const now=performance.now(),seconds=(now-last)/1e3,rows=[];\n"
	" const stats=(await get('/v2/models/stats')).model_stats;\n"
	" for(const m of stats){\n"
	"  const key=m.name+'/'+m.version,old=before[key],s=m.inference_stats;\n"
	"  const d={n:s.success.count-(old?old.inference_stats.success.count:0),"
	"q:s.queue.ns-(old?old.inference_stats.queue.ns:0),"
	"c:s.compute_infer.ns-(old?old.inference_stats.compute_infer.ns:0),"
	"r:m.inference_count-(old?old.inference_count:0),"
	"b:m.execution_count-(old?old.execution_count:0)};\n"
	"  const why=(await get('/v2/models/'+m.name+'/versions/'+m.version+'/explain')).explain;\n"
	"  "
	"rows.push([m.name,m.version,old?(d.n/seconds).toFixed(0):'',old?(d.r/"
	"seconds).toFixed(0):'',"
	"d.b?(d.r/d.b).toFixed(1):'',d.n?time(d.q/d.n):'',d.b?time(d.c/"
	"d.b):'',s.fail.count,why]);\n"
	"  before[key]=m;\n"
	" }\n"
	" last=now;\n"
	" const heads=[...document.querySelectorAll('th')].map(th=>th.textContent);\n"
	" body.replaceChildren(...rows.map(r=>{const tr=document.createElement('tr');\n"
	"  r.forEach((v,i)=>{const td=document.createElement('td');td.textContent=v;"
	"td.dataset.of=heads[i];if(i===8)td.className='why';tr.append(td)});return tr}));\n"
	" const h=await fetch('/v2/health/ready');\n"
	" state.textContent=(h.ok?'ready':'not ready')+', '+new Date().toLocaleTimeString();\n"
	"}\n"
	"(async()=>{for(;;){try{await look()}catch(e){state.textContent=String(e.message)}\n"
	" await new Promise(r=>setTimeout(r,1000))}})();\n"
	"</script></body></html>\n";

void nn_page_answer(struct nn_query *q)
{
	const char *accept = nn_exchange_header(q->exchange, "Accept");
	struct nn_text *text = &q->exchange->answer;

	if (!accept || !strstr(accept, "text/html")) {
		nn_text_add(text, "{\"status\":\"alive\"}\n");
		nn_query_answer_json(q);
		return;
	}
	nn_text_add_bytes(text, page, sizeof page - 1);
	nn_exchange_set_header(q->exchange, "Content-Security-Policy",
			       "default-src 'none'; style-src 'unsafe-inline'; "
			       "script-src 'unsafe-inline'; connect-src 'self'");
	nn_query_answer(q, 200, "text/html; charset=utf-8");
}
